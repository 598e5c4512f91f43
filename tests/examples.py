"""Do the examples reach what they say, and are they traced to the bit?

    python -m tests.examples [names]

Each runs as it stands, eagerly and traced: some minutes in all. Other seeds of processes that race
make other losses, so those are compared where there is one process.
"""
import importlib
import pathlib
import sys
import time

FOLDER = pathlib.Path(__file__).parents[1] / "examples"
# the least and the most that `main` gives as what was reached
BOUNDS = {
    "cartpole": (150, 200), "char_gpt": (0, 1.5), "dcgan_digits": (0.45, 1),
    "diffusion_points": (0.9, 1), "fourier_operator": (0, 0.03), "gaussian_process": (0, 0.05),
    "graph_network": (0.85, 1), "hogwild_digits": (0.94, 1),
    "maml_sines": (0, 0.8), "matrix_factorisation": (0, 0.36), "neural_ode": (0, 0.25),
    "physics_informed": (0, 0.01), "residual_digits": (0.985, 1), "siamese_digits": (0.97, 1),
    "sine_waves": (0, 0.15), "super_resolution": (0.7, 3), "tree_lstm": (0.95, 1),
    "vae_digits": (0, 25.5),
    "word_language_model": (1, 270)}
RACE = {"hogwild_digits"}


def tried(name):
    """What is wrong with an example, in words; nothing where it is as it says."""
    main, runs = importlib.import_module(name).main, []
    for trace in (False, True):
        start = time.perf_counter()
        runs.append(main(trace=trace))
        print(f"{name}: {'traced' if trace else 'eager'} {time.perf_counter() - start:.1f} s, "
              f"reached {runs[-1][1]:.4f}", flush=True)
    low, high = BOUNDS[name]
    if not all(low <= reached <= high for _, reached in runs):
        return f"{name} reaches {runs[0][1]}, which is not from {low} to {high}"
    if name not in RACE and runs[0] != runs[1]:
        return f"{name} gives other losses where it is traced"
    return ""


def main():
    """Try all, or those of some names."""
    sys.path.insert(0, str(FOLDER))
    wrong = list(filter(None, map(tried, sys.argv[1:] or BOUNDS)))
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
