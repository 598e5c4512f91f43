/* Calls a library that `exported.compile("model.so")` made, whichever model it is of.

     cc any_model.c model.so -DSIZES=1 -o any_model
     ./any_model 3 x0.bin x1.bin y0.bin

   The arguments are the sizes that differ, files of the inputs' elements, and files that get those
   of the results, of which it prints types and sizes. SIZES: how many sizes differ. */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static void check(int code) {
  if (code != MODEL_OK) {
    fprintf(stderr, "%s\n", model_message(code));
    exit(1);
  }
}

static model_buffer room(const model_value *v) {
  size_t most = (size_t)v->bytes, unit = v->alignment > 8 ? (size_t)v->alignment : 8;
  model_buffer made = {aligned_alloc(unit, (most / unit + 1) * unit), v->bytes};
  return made;
}

int main(int argc, char **argv) {
  model_model *model;
  model_context *context;
  model_buffer x[MODEL_INPUTS + 1], y[MODEL_RESULTS + 1];
  if (argc != 1 + SIZES + MODEL_INPUTS + MODEL_RESULTS) return 2;
  check(model_model_create(&model, NULL, NULL));
  check(model_context_create(&context, model, NULL));
#if SIZES
  model_sizes sizes;
  for (int k = 0; k < SIZES; k++) ((int64_t *)&sizes)[k] = atoll(argv[1 + k]);
  check(model_prepare(context, &sizes));
#define INPUT(i) model_context_input(context, i)
#define RESULT(i) model_context_result(context, i)
#define RUN(...) model_run(context, &sizes, __VA_ARGS__)
#else
#define INPUT(i) model_input(i)
#define RESULT(i) model_result(i)
#define RUN(...) model_run(context, __VA_ARGS__)
#endif
  for (int i = 0; i < MODEL_INPUTS; i++) {
    FILE *from = fopen(argv[1 + SIZES + i], "rb");
    x[i] = room(INPUT(i));
    if (!from || fread(x[i].data, 1, x[i].bytes, from) != (size_t)x[i].bytes) return 2;
    fclose(from);
  }
  for (int i = 0; i < MODEL_RESULTS; i++) y[i] = room(RESULT(i));
  check(RUN(x, MODEL_INPUTS, y, MODEL_RESULTS));
  for (int i = 0; i < MODEL_RESULTS; i++) {
    const model_value *v = RESULT(i);
    FILE *to = fopen(argv[1 + SIZES + MODEL_INPUTS + i], "wb");
    if (!to || fwrite(y[i].data, 1, y[i].bytes, to) != (size_t)y[i].bytes || fclose(to)) return 2;
    printf("%s", v->dtype);
    for (int d = 0; d < v->ndim; d++) printf(" %lld", (long long)v->shape[d]);
    printf("\n");
    free(y[i].data);
  }
  for (int i = 0; i < MODEL_INPUTS; i++) free(x[i].data);
  check(model_context_destroy(context));
  check(model_model_destroy(model));
  return 0;
}
