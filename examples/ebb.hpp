/* ebb.hpp - a C++ face in one header: tensors that own a reference, operators, exceptions.
 *
 * A tensor here needs no scope: each call opens one, because the C operations want one, and
 * claims the result at once, so nothing waits for a scope's end.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_EBB_HPP
#define EBB_EBB_HPP

#include <ebb/ebb.h>

#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ebb
{
/* Text and numbers only: an exception holds no tensor. */
struct error : std::runtime_error {
    ebb_status status;
    error() : std::runtime_error(ebb_error_message()), status(ebb_error_status())
    {
    }
};

inline void check(ebb_status s)
{
    if (s != EBB_OK) throw error();
}

class tensor
{
    ebb_tensor *t_ = nullptr;
    explicit tensor(ebb_tensor *t) : t_(t)
    {
    }

  public:
    tensor() = default;
    tensor(const tensor &o) : t_(ebb_keep(o.t_))
    {
    }
    tensor(tensor &&o) noexcept : t_(std::exchange(o.t_, nullptr))
    {
    }
    tensor &operator=(tensor o) noexcept
    {
        std::swap(t_, o.t_);
        return *this;
    }
    ~tensor()
    {
        ebb_release(t_);
    }

    /* The result of f(), whatever scopes are open around it. */
    template <class F> static tensor made(F f)
    {
        ebb_scope s = ebb_scope_begin(0, nullptr);
        ebb_tensor *t = ebb_claim(f());
        ebb_scope_end(s);
        if (!t) throw error();
        return tensor(t);
    }
    /* A reference of its own to what somebody else owns. */
    static tensor borrowed(ebb_tensor *t)
    {
        if (!t) throw error();
        return tensor(ebb_keep(t));
    }

    ebb_tensor *get() const
    {
        return t_;
    }
    double item() const
    {
        double v = ebb_item(t_);
        if (v != v && ebb_error_status() != EBB_OK) throw error();
        return v;
    }

    friend tensor operator+(const tensor &a, const tensor &b)
    {
        return made([&] { return ebb_add(a.t_, b.t_); });
    }
    friend tensor operator-(const tensor &a, const tensor &b)
    {
        return made([&] { return ebb_sub(a.t_, b.t_); });
    }
    friend tensor operator*(const tensor &a, const tensor &b)
    {
        return made([&] { return ebb_mul(a.t_, b.t_); });
    }
    friend tensor operator*(const tensor &a, double b)
    {
        return made([&] { return ebb_mul_scalar(a.t_, b); });
    }
    friend tensor operator*(double a, const tensor &b)
    {
        return b * a;
    }
    friend tensor operator+(const tensor &a, double b)
    {
        return made([&] { return ebb_add_scalar(a.t_, b); });
    }
    friend tensor operator-(const tensor &a)
    {
        return made([&] { return ebb_neg(a.t_); });
    }
};

inline tensor matmul(const tensor &a, const tensor &b)
{
    return tensor::made([&] { return ebb_matmul(a.get(), b.get()); });
}
inline tensor relu(const tensor &a)
{
    return tensor::made([&] { return ebb_relu(a.get()); });
}
inline tensor mse(const tensor &a, const tensor &b)
{
    return tensor::made([&] { return ebb_mse(a.get(), b.get()); });
}

/* Tensors that outlive it are stale: releasing one does nothing, using one is an error. */
class context
{
    ebb_context *c_ = nullptr;

  public:
    explicit context(const ebb_context_options &o = {})
    {
        check(ebb_context_create(&c_, &o));
    }
    ~context()
    {
        ebb_context_destroy(c_);
    }
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    operator ebb_context *() const
    {
        return c_;
    }
    template <class T>
    tensor from(std::initializer_list<int64_t> dims, const std::vector<T> &v) const
    {
        ebb_shape s = ebb_shape_of(dims.begin(), static_cast<int64_t>(dims.size()));
        return tensor::made([&] { return EBB_FROM(c_, s, v.data(), v.size()); });
    }
};

class no_grad
{
    ebb_scope s_ = ebb_scope_begin(EBB_SCOPE_NO_GRAD, nullptr);

  public:
    no_grad() = default;
    ~no_grad()
    {
        ebb_scope_end(s_);
    }
    no_grad(const no_grad &) = delete;
    no_grad &operator=(const no_grad &) = delete;
};
} // namespace ebb

#endif
