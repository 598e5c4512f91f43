// Calls a model that `exported.compile("digits.so")` made from several threads of C++: one model,
// a context for each thread. All must give what the first call gave.
//
//     c++ -std=c++17 threads.cpp digits.so -Wl,-rpath,'$ORIGIN' -pthread -o threads
//     ./threads [threads] [calls]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "digits.h"

static void check(int code) {
  if (code != DIGITS_OK) throw std::runtime_error(digits_message(code));
}

struct Context {
  digits_context *at = nullptr;
  std::vector<float> x, y;
  explicit Context(digits_model *model)
      : x(digits_input(0)->bytes / sizeof(float)), y(digits_result(0)->bytes / sizeof(float)) {
    check(digits_context_create(&at, model, nullptr));
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 17) / 16;
  }
  ~Context() { digits_context_destroy(at); }
  const std::vector<float> &operator()() {
    digits_buffer in{x.data(), digits_input(0)->bytes}, out{y.data(), digits_result(0)->bytes};
    check(digits_run(at, &in, 1, &out, 1));
    return y;
  }
};

int main(int argc, char **argv) try {
  int threads = argc > 1 ? std::atoi(argv[1]) : 4, calls = argc > 2 ? std::atoi(argv[2]) : 100;
  digits_model *model;
  check(digits_model_create(&model, nullptr, nullptr));
  std::unique_ptr<digits_model, decltype(&digits_model_destroy)> owner(model, digits_model_destroy);
  const std::vector<float> first = Context(model)();
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([&] {
      Context context(model);
      for (int k = 0; k < calls; k++) wrong += context() != first;
    });
  for (auto &t : all) t.join();
  std::printf("%d threads, %d calls each on %s: %d differ\n", threads, calls,
              digits_model_level(model), wrong.load());
  return wrong != 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "digits: %s\n", e.what());
  return 1;
}
