"""The data sets as .npy files, made once under target/bench-data."""

import gzip
import os
import pathlib

# Products of small matrices only wait for a second thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402


class Missing(Exception):
    """A data set that is not in the folder; the message says which file."""


class Data:
    def __init__(self, source, cache):
        self.source, self.cache = source and pathlib.Path(source), pathlib.Path(cache)
        self.cache.mkdir(parents=True, exist_ok=True)

    def file(self, name):
        path = self.source and self.source / name
        if not path or not path.exists():
            raise Missing(f"{name} is not in the data folder (--data or SPADEWORK_DATA)")
        return path

    def cached(self, name, make):
        path = self.cache / f"{name}.npy"
        if not path.exists():
            array = make()
            np.save(self.cache / "unfinished.npy", array)
            (self.cache / "unfinished.npy").rename(path)
        return path

    def mnist_images(self, *parts):
        def images(part):
            path = self.file(f"mnist/{part}-images-idx3-ubyte.gz")
            return np.frombuffer(gzip.open(path).read(), np.uint8, offset=16).reshape(-1, 784)

        return np.concatenate([images(part) for part in parts]).astype(np.float32) / 255

    def mnist_test(self):
        return self.cached("mnist_test", lambda: self.mnist_images("t10k"))

    def mnist(self):
        return self.cached("mnist_70k", lambda: self.mnist_images("train", "t10k"))

    def mnist_test_outputs(self):
        path = self.file("logits/mnist_test_lenet5.npz")
        return self.cached("mnist_test_outputs", lambda: np.load(path)["lenet5_eps0.0"])

    def mnist_outputs(self):
        """The logits of all 70,000 images, by the network that the folder has."""
        model = self.file("models/lenet5_eps0.0.onnx")

        def logits():
            try:
                import onnxruntime
            except ImportError:
                raise Missing("onnxruntime is not installed, which computes the logits") from None
            session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
            name = session.get_inputs()[0].name
            images = np.load(self.mnist()).reshape(-1, 1, 28, 28)
            return np.concatenate(
                [session.run(None, {name: images[at : at + 1000]})[0] for at in range(0, len(images), 1000)]
            )

        return self.cached("mnist_70k_outputs", logits)

    def cifar(self):
        names = [f"cifar10/data_batch_{number}.bin" for number in range(1, 6)] + ["cifar10/test_batch.bin"]
        files = [self.file(name) for name in names]

        def images():
            rows = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 3073) for file in files])
            return rows[:, 1:].astype(np.float32) / 255

        return self.cached("cifar10_60k", images)

    def photographs(self, n, side=224):
        """As near to ImageNet's photographs as CIFAR-10 brings us: its images enlarged to 224 × 224 pixels by linear interpolation,
        with fine noise, as bytes. Written image by image: 50,000 of them are 7.5 GB."""
        path = self.cache / f"photographs_{n}.npy"
        if not path.exists():
            names = [f"cifar10/data_batch_{number}.bin" for number in range(1, 6)] + ["cifar10/test_batch.bin"]
            rows = np.concatenate([np.fromfile(self.file(name), np.uint8).reshape(-1, 3073) for name in names])
            write_photographs(self.cache / "unfinished.npy", rows[:n, 1:].reshape(-1, 3, 32, 32), side)
            (self.cache / "unfinished.npy").rename(path)
        return path

    def for_lenet(self):
        """MNIST's test images as LeNet-5 takes them."""
        return self.cached("mnist_test_images", lambda: np.load(self.mnist_test()).reshape(-1, 1, 28, 28))

    def for_resnet(self):
        """The first two thousand of CIFAR-10's test images as a ResNet takes them."""
        file = self.file("cifar10/test_batch.bin")

        def images():
            rows = np.fromfile(file, np.uint8).reshape(-1, 3073)[:2000, 1:]
            return rows.reshape(-1, 3, 32, 32).astype(np.float32) / 255

        return self.cached("cifar10_test_images", images)

    def clusters(self, n, dim=64):
        """Overlapping clusters of low dimension with some noise, and what a small random network makes of them."""

        def normal(*shape):
            return rng.standard_normal(shape, np.float32)

        rng = np.random.default_rng(n)
        name = f"clusters_{n}" if dim == 64 else f"clusters_{n}x{dim}"
        paths = [self.cache / f"{name}{side}.npy" for side in ("", "_outputs")]
        if not all(path.exists() for path in paths):
            clusters, latent, hidden, outputs = 20, 12, 64, 10
            points = normal(clusters, latent)[rng.integers(0, clusters, n)] + normal(n, latent)
            x = points @ normal(latent, dim) / np.float32(latent) ** 0.5 + 0.1 * normal(n, dim)
            for path, array in zip(paths, (x, random_network(x, hidden, outputs, rng))):
                self.cached(path.stem, lambda array=array: array)
        return paths

    def cifar_90k(self):
        """As many samples as the paper's largest set: CIFAR-10 and half of it mirrored, and a small random network."""

        def images():
            x = np.load(self.cifar())
            mirrored = x[:30_000].reshape(-1, 3, 32, 32)[:, :, :, ::-1].reshape(-1, 3072)
            return np.concatenate([x, mirrored])

        inputs = self.cached("cifar10_90k", images)
        outputs = lambda: random_network(np.load(inputs), 64, 10, np.random.default_rng(0))
        return inputs, self.cached("cifar10_90k_outputs", outputs)

    def embeddings(self, n=50_000, dim=768):
        """Items of 200 topics that lie in fewer dimensions than they are told in, and of different lengths."""

        def draw():
            rng = np.random.default_rng(0)
            normal = lambda *shape: rng.standard_normal(shape, np.float32)
            latent = 64
            points = normal(200, latent)[rng.integers(0, 200, n)] + 0.7 * normal(n, latent)
            lengths = np.exp(0.2 * normal(n, 1))
            return lengths * (points @ normal(latent, dim) / np.float32(latent) ** 0.5 + 0.1 * normal(n, dim))

        return self.cached(f"embeddings_{n}x{dim}", draw)

    def gaussian(self, n=10_000, dim=784):
        """No direction says more than another: nothing to prune by."""
        draw = lambda: np.random.default_rng(0).standard_normal((n, dim), np.float32)
        return self.cached(f"gaussian_{n}x{dim}", draw)


def enlarging(small, large):
    """The matrix that interpolates `small` numbers linearly to `large` ones."""
    at = np.clip((np.arange(large) + 0.5) * small / large - 0.5, 0, small - 1)
    low = np.minimum(at.astype(int), small - 2)
    matrix = np.zeros((large, small), np.float32)
    matrix[np.arange(large), low] = 1 - (at - low)
    matrix[np.arange(large), low + 1] = at - low
    return matrix


def write_photographs(path, images, side):
    """Images of n × 3 × small × small bytes as n × side × side × 3 bytes with noise of up to 5 levels."""
    rng = np.random.default_rng(0)
    matrix = enlarging(images.shape[-1], side)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(len(images), side, side, 3))
    for at, image in enumerate(images):
        large = matrix @ image.astype(np.float32) @ matrix.T
        noise = rng.integers(-5, 6, (side, side, 3), dtype=np.int8)
        out[at] = np.clip(np.moveaxis(large, 0, -1) + noise, 0, 255)
    out.flush()


def random_network(x, hidden, outputs, rng):
    normal = lambda *shape: rng.standard_normal(shape, np.float32)
    dim = x.shape[1]
    return np.tanh(x @ normal(dim, hidden) / np.float32(dim) ** 0.5) @ normal(hidden, outputs)


if __name__ == "__main__":  # data.py CIFAR-FOLDER N FILE.npy: N photographs, for a run of their own
    import sys

    folder, n, path = sys.argv[1:]
    files = [pathlib.Path(folder) / f"data_batch_{number}.bin" for number in range(1, 6)]
    rows = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 3073) for file in files])
    write_photographs(path, rows[: int(n), 1:].reshape(-1, 3, 32, 32), 224)
