/* Calls a model that `exported.compile("digits.so")` made, from C.

     cc digits.c digits.so -Wl,-rpath,'$ORIGIN' -o digits
     ./digits x.bin y.bin [calls] [threads]

   x.bin has the elements of the input one after the other, y.bin gets those of the result; prints
   the least microseconds that a call took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "digits.h"

static void check(int code) {
  if (code != DIGITS_OK) {
    fprintf(stderr, "digits: %s\n", digits_message(code));
    exit(1);
  }
}

static double microseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

int main(int argc, char **argv) {
  digits_model *model;
  digits_context *context;
  digits_buffer x = {NULL, digits_input(0)->bytes}, y = {NULL, digits_result(0)->bytes};
  FILE *from = argc > 2 ? fopen(argv[1], "rb") : NULL, *to = argc > 2 ? fopen(argv[2], "wb") : NULL;
  digits_threads threads = {argc > 4 ? atoi(argv[4]) : 1, NULL, NULL, NULL};
  double best = 1e30;
  x.data = malloc(x.bytes), y.data = malloc(y.bytes);
  if (!from || !to || fread(x.data, 1, x.bytes, from) != (size_t)x.bytes) {
    fprintf(stderr, "usage: %s x.bin y.bin [calls] [threads], with %lld bytes in x.bin\n", argv[0],
            (long long)x.bytes);
    return 2;
  }
  check(digits_model_create(&model, NULL, NULL));
  check(digits_context_create(&context, model, &threads));
  for (int k = argc > 3 ? atoi(argv[3]) : 1; k > 0; k--) {
    double begin = microseconds();
    check(digits_run(context, &x, 1, &y, 1));
    if (microseconds() - begin < best) best = microseconds() - begin;
  }
  fwrite(y.data, 1, y.bytes, to), fclose(to), fclose(from);
  printf("%.1f\n", best);
  check(digits_context_destroy(context));
  check(digits_model_destroy(model));
  return 0;
}
