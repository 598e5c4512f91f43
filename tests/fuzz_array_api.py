"""Random calls of every function of the array API standard, in `whet.array_api` and in
array-api-strict.

    python -m tests.fuzz_array_api                   # 300 calls of each
    python -m tests.fuzz_array_api --count 5000 --only linalg
"""
import argparse
import collections
import sys
import warnings

from .array_api.reference import CALLS, OPERATORS, check, strict


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--only", default="")
    options.add_argument("--show",
                         type=int,
                         default=1,
                         help="differences to print for each function")
    given = options.parse_args()
    if strict is None:
        print("array-api-strict is not installed: nothing to compare with")
        return 0
    warnings.simplefilter("ignore")
    wrong = compared = 0
    for name in filter(lambda n: given.only in n, [*CALLS, *OPERATORS]):
        counts, shown = collections.Counter(), []
        for seed in range(given.start, given.start + given.count):
            said = check(name, seed)
            counts[said is None] += 1
            counts["refused"] += said == ""
            if said and len(shown) < given.show:
                shown.append(said)
        different = counts[False] - counts["refused"]
        wrong, compared = wrong + different, compared + counts[True] + different
        if different or counts["refused"] > given.count // 2:
            print(
                f"{name}: {different} of {given.count} differ, {counts['refused']} refused"
            )
        for said in shown:
            print("   ", said)
    print(f"{compared} calls compared, {wrong} differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
