"""Launches that follow each other on blocks of rows: each block goes through all of them before the next.

Arguments: a table, memory for all threads, then the arguments of the launches, one after the other. The table: rows of a matrix, matrices'
blocks, rows of a block, bytes of memory for a thread, the number of launches; then for each launch its kernel, its units for a matrix, its
units for a block, the number of its arguments, and for each argument two numbers: 0, or if it is the address of what lies between two
launches, the bytes of a row of it; and where in a thread's memory the rows of a block lie. A unit of work is a block. """

HEAD, LAUNCH = 5, 4              # words of the table before the launches, and of a launch before its arguments
MOST = 64                        # arguments of a launch


def emit(module, symbol):
    """The kernel."""
    f = module.fn(symbol, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])
    args, begin, end, worker = f.args
    table, memory = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    rows, blocks, block, size, count = (f.load("i64", f.at(table, i, "i64")) for i in range(HEAD))
    slots, mine = f.alloca("i64", MOST), f.bytes_at(memory, worker * size)

    def unit(u):
        matrix = f.udiv(u, blocks)
        i = u - matrix * blocks
        row = matrix * rows + i * block

        def launch(_, at, given):
            kernel, units, step, n = (f.load("ptr" if k == 0 else "i64", f.at(at, k, "i64")) for k in range(LAUNCH))

            def slot(k):
                about = f.at(at, k * 2 + LAUNCH, "i64")
                of_row, place = f.load("i64", about), f.load("i64", f.at(about, 1, "i64"))
                between = f.v("i64", f"ptrtoint ptr {f.bytes_at(mine, place - row * of_row).ref} to i64")
                value = f.load("i64", f.at(given, k, "i64"))
                f.store(f.sel(f.cmp("ne", of_row, 0), between, value), f.at(slots, k, "i64"))
            f.loop(0, n, 1, slot)
            first, last = (matrix * units + f.imin(k * step, units) for k in (i, i + 1))
            f.raw(f"call void {kernel.ref}(ptr {slots.ref}, i64 {first.ref}, i64 {last.ref}, i64 {worker.ref})")
            return [f.at(at, n * 2 + LAUNCH, "i64"), f.at(given, n, "i64")]
        f.loop(0, count, 1, launch, [f.at(table, HEAD, "i64"), f.at(args, 2, "i64")])
    f.loop(begin, end, 1, unit)
