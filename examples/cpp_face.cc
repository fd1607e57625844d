/* cpp_face.cc - the line of linreg.c, written in C++: no scope, no release, errors as
 * exceptions.
 * SPDX-License-Identifier: MIT */
#include "ebb.hpp"

#include <cmath>
#include <cstdio>

static bool refuses_wrong_shapes(const ebb::context &ctx)
{
    auto a = ctx.from({2, 3}, std::vector<float>(6)),
         b = ctx.from({2, 3}, std::vector<float>(6));
    try {
        (void)ebb::matmul(a, b);
    } catch (const ebb::error &e) {
        std::printf("refused as it should be: %s\n", e.what());
        ebb_error_clear();
        return e.status == EBB_E_SHAPE;
    }
    return false;
}

int main()
try {
    ebb::context ctx;
    std::vector<float> xs(64), ys(64);
    for (int i = 0; i < 64; i++) {
        xs[i] = static_cast<float>(i) / 64;
        ys[i] = 3 * xs[i] + 1;
    }
    auto x = ctx.from({64, 1}, xs), y = ctx.from({64, 1}, ys);
    ebb_params *p;
    ebb_optimizer *opt;
    ebb::check(ebb_params_create(&p, ctx));
    auto w =
        ebb::tensor::borrowed(ebb_param(p, "w", EBB_F32, EBB_SHAPE(1, 1), ebb_constant(0)));
    auto b = ebb::tensor::borrowed(ebb_param(p, "b", EBB_F32, EBB_SHAPE(1), ebb_constant(0)));
    ebb::check(ebb_sgd_create(&opt, p, 0.5, nullptr));
    for (int step = 0; step < 500; step++) {
        auto loss = ebb::mse(ebb::matmul(x, w) + b, y);
        ebb::check(ebb_minimize(opt, loss.get(), nullptr));
        if (step % 100 == 0) std::printf("step %d loss %g\n", step, loss.item());
    }
    std::printf("y = %.3f x + %.3f\n", w.item(), b.item());
    bool right = std::fabs(w.item() - 3) < 1e-2 && std::fabs(b.item() - 1) < 1e-2;
    return right && refuses_wrong_shapes(ctx) ? 0 : 1;
} catch (const ebb::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
