# The commands of every day; what they do is in scripts/ and CMakePresets.json.
# SPDX-License-Identifier: MIT
.PHONY: demo test dev check bench bench-memory fuzz soak format regen exports tidy clean

demo: ; @scripts/demo.sh
test: ; @scripts/test_all.sh
bench: ; @scripts/bench.sh
bench-memory: ; @scripts/bench_memory.sh
fuzz: ; @scripts/fuzz.sh $(SECONDS)
soak: ; @scripts/soak.sh

dev:
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
check: dev
	@ctest --preset dev
regen:
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev --target regen
exports: dev
	@scripts/update_exports.sh build/dev
format:
	@find include src cli examples bench tests -name '*.[ch]' -o -name '*.inl' -o -name '*.cc' -o -name '*.hpp' | xargs clang-format-14 -i
tidy: dev
	@find src -name '*.c' | xargs clang-tidy-14 -p build/dev --quiet
clean:
	@rm -rf build
