/* Calls a model whose sizes differ, which `exported.compile("rows.so")` made, from C.

     cc sizes.c rows.so -Wl,-rpath,'$ORIGIN' -o sizes
     ./sizes x.bin y.bin batch length

   x.bin has the elements of the input one after the other, y.bin gets those of the result. */
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

static void check(int code) {
  if (code != ROWS_OK) {
    fprintf(stderr, "rows: %s\n", rows_message(code));
    exit(1);
  }
}

int main(int argc, char **argv) {
  rows_model *model;
  rows_context *context;
  if (argc != 5) {
    fprintf(stderr, "usage: %s x.bin y.bin batch length\n", argv[0]);
    return 2;
  }
  rows_sizes sizes = {.batch = atoi(argv[3]), .length = atoi(argv[4])};
  check(rows_model_create(&model, NULL, NULL));
  check(rows_context_create(&context, model, NULL));
  check(rows_prepare(context, &sizes)); /* from here on the context knows how large all is */
  rows_buffer x = {NULL, rows_context_input(context, 0)->bytes};
  rows_buffer y = {NULL, rows_context_result(context, 0)->bytes};
  x.data = malloc(x.bytes), y.data = malloc(y.bytes);
  FILE *from = fopen(argv[1], "rb"), *to = fopen(argv[2], "wb");
  if (!from || !to || fread(x.data, 1, x.bytes, from) != (size_t)x.bytes) return 2;
  check(rows_run(context, &sizes, &x, 1, &y, 1));
  fwrite(y.data, 1, y.bytes, to), fclose(to), fclose(from);
  check(rows_context_destroy(context));
  check(rows_model_destroy(model));
  return 0;
}
