"""Madry's network for MNIST (conv2: 5x5x32, 5x5x64, fully connected 1024), in a layout that suits tensor cores.

Images are kept as 7 x 7 blocks of 4 x 4 pixels, the pixels of a block as channels. A 5 x 5 convolution with padding 2 is then a 3 x 3
convolution between blocks whose weights are the 25 of the original and zeros, and max pooling is a maximum over groups of channels.
The parameters are those of the original network, the function is the same up to the order of sums, and wide 3 x 3
convolutions are several times faster on a GPU than convolutions of one channel.
"""

import torch
import torch.nn.functional as F

CLASSES = 16
"""Outputs: ten classes, and six that are never likely, because matrices of ten columns are slow."""


def to_blocks(images):
    """[n, 28, 28] to [n, 16, 7, 7]: channel 4r + s is row r, column s of a block."""
    n = images.shape[0]
    blocks = images.reshape(n, 7, 4, 7, 4).permute(0, 2, 4, 1, 3).reshape(n, 16, 7, 7)
    return blocks.contiguous(memory_format=torch.channels_last)


def _taps(factor, outputs):
    """For every (output offset, input offset, block) the tap of a 5-tap filter that joins them, or -1."""
    taps = torch.full((outputs, factor, 3), -1, dtype=torch.long)
    for a in range(outputs):
        for r in range(factor):
            for d in range(3):
                tap = factor * (d - 1) + r - a + 2
                if 0 <= tap < 5:
                    taps[a, r, d] = tap
    return taps


def _index(factor, in_channels, out_channels):
    """Where each weight between blocks stands in the flat 5 x 5 weights with one zero appended.

    Output channels are ordered (place in its pooling window, place of the pooled value in its block, channel), input channels
    (place in the block, channel).
    """
    taps = _taps(factor, factor)
    pooled = factor // 2
    zero = out_channels * in_channels * 25
    rows = []
    for window in range(4):
        for phase in range(pooled * pooled):
            a = 2 * (phase // pooled) + window // 2
            b = 2 * (phase % pooled) + window % 2
            u, v = taps[a], taps[b]  # [factor, 3] each
            # [r, s, di, dj]
            place = u[:, None, :, None] * 5 + v[None, :, None, :]
            valid = (u[:, None, :, None] >= 0) & (v[None, :, None, :] >= 0)
            place = place.reshape(1, factor * factor, 1, 3, 3)
            valid = valid.reshape(1, factor * factor, 1, 3, 3)
            channel = torch.arange(out_channels).reshape(-1, 1, 1, 1, 1) * in_channels
            channel = (channel + torch.arange(in_channels).reshape(1, 1, -1, 1, 1)) * 25
            index = torch.where(valid, channel + place, torch.tensor(zero))
            rows.append(index.reshape(out_channels, factor * factor * in_channels, 3, 3))
    return torch.cat(rows)


def initial(generator, device):
    """As in the code of Madry et al.: weights normal, cut at two deviations, deviation 0.1; biases 0.1."""
    shapes = {
        "w1": (32, 1, 5, 5), "b1": (32,), "w2": (64, 32, 5, 5), "b2": (64,),
        "w3": (1024, 3136), "b3": (1024,), "w4": (10, 1024), "b4": (10,),
    }  # fmt: skip
    parameters = {}
    for name, shape in shapes.items():
        value = torch.full(shape, 0.1)
        if name.startswith("w"):
            torch.nn.init.trunc_normal_(value, std=0.1, a=-0.2, b=0.2, generator=generator)
        parameters[name] = value.to(device).requires_grad_(True)
    return parameters


def _places(index, count):
    """Where each of `count` weights stands between blocks: the same number of places for all of them."""
    order = torch.argsort(index.reshape(-1), stable=True)
    used = int((index < count).sum())
    return order[:used].reshape(count, used // count)


class _Spread(torch.autograd.Function):
    """Weights to their places between blocks. Gradients are gathered and added in a fixed order, without atomic additions."""

    @staticmethod
    def forward(context, weight, index, places):
        context.save_for_backward(places)
        context.shape = weight.shape
        return torch.cat([weight.reshape(-1), weight.new_zeros(1)])[index]

    @staticmethod
    def backward(context, gradient):
        (places,) = context.saved_tensors
        return gradient.contiguous().reshape(-1)[places].sum(1).reshape(context.shape), None, None


class Blocks:
    """The weights between blocks of a set of parameters."""

    def __init__(self, device):
        index1, index2 = _index(4, 1, 32), _index(2, 32, 64)
        self.index1, self.places1 = index1.to(device), _places(index1, 32 * 25).to(device)
        self.index2, self.places2 = index2.to(device), _places(index2, 64 * 32 * 25).to(device)

    def weights(self, parameters, dtype):
        """All weights as the network uses them, differentiable with respect to the parameters."""
        p = parameters

        def spread(weight, index, places):
            spread = _Spread.apply(weight, index, places)
            return spread.to(dtype).contiguous(memory_format=torch.channels_last)

        return (
            spread(p["w1"], self.index1, self.places1), p["b1"].repeat(4).to(dtype),
            spread(p["w2"], self.index2, self.places2), p["b2"].to(dtype),
            p["w3"].to(dtype), p["b3"].to(dtype),
            F.pad(p["w4"], (0, 0, 0, CLASSES - 10)).to(dtype), F.pad(p["b4"], (0, CLASSES - 10), value=-1e4).to(dtype),
        )  # fmt: skip


def _pooled(sums, bias):
    """Maximum over the four places of each window, bias, ReLU; and which place it was."""
    channels = sums.shape[1] // 4
    a, b, c, d = (sums[:, at * channels : (at + 1) * channels] for at in range(4))
    ab, cd = torch.maximum(a, b), torch.maximum(c, d)
    top = torch.maximum(ab, cd)
    return torch.relu(top + bias.reshape(1, -1, 1, 1)), (a, b, c, d, top)


def logits(weights, blocks):
    """Logits of images in blocks, of the dtype of the weights."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    hidden, _ = _pooled(F.conv2d(blocks, w1, padding=1), b1)
    hidden, _ = _pooled(F.conv2d(hidden, w2, padding=1), b2)
    flat = hidden.permute(0, 2, 3, 1).reshape(blocks.shape[0], 3136)
    return F.linear(torch.relu(F.linear(flat, w3, b3)), w4, b4)


def turned(weights):
    """Weights of the convolutions that carry gradients back."""

    def turn(weight):
        return weight.flip(2, 3).transpose(0, 1).contiguous(memory_format=torch.channels_last)

    return turn(weights[0]), turn(weights[2])


def _unpooled(gradient, hidden, places):
    """The gradient at the sums: that of the pooled value goes to its first largest place, where ReLU let it pass."""
    a, b, c, d, top = places
    gradient = torch.where(hidden > 0, gradient, torch.zeros_like(gradient))
    zero = torch.zeros_like(gradient)
    is_a = a == top
    is_b = (b == top) & ~is_a
    is_c = (c == top) & ~is_a & ~is_b
    is_d = ~is_a & ~is_b & ~is_c
    parts = [torch.where(chosen, gradient, zero) for chosen in (is_a, is_b, is_c, is_d)]
    return torch.cat(parts, 1).contiguous(memory_format=torch.channels_last)


def input_gradient(weights, back, blocks, one_hot):
    """Logits, and for each image a positive multiple of the gradient of its cross entropy.

    The gradient at the logits is (1 - p_y)(q - e_y), with q the softmax over the wrong classes. The factor does not change a sign, and
    left out it cannot underflow where the network is sure.
    """
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    sums1 = F.conv2d(blocks, w1, padding=1)
    hidden1, places1 = _pooled(sums1, b1)
    sums2 = F.conv2d(hidden1, w2, padding=1)
    hidden2, places2 = _pooled(sums2, b2)
    flat = hidden2.permute(0, 2, 3, 1).reshape(blocks.shape[0], 3136)
    hidden3 = torch.relu(F.linear(flat, w3, b3))
    out = F.linear(hidden3, w4, b4).float()
    wrong = torch.softmax(out.masked_fill(one_hot > 0, float("-inf")), 1)
    gradient = (wrong - one_hot).to(w4.dtype)
    gradient = gradient @ w4
    gradient = torch.where(hidden3 > 0, gradient, torch.zeros_like(gradient)) @ w3
    gradient = gradient.reshape(-1, 7, 7, 64).permute(0, 3, 1, 2)
    gradient = F.conv2d(_unpooled(gradient, hidden2, places2), back[1], padding=1)
    gradient = F.conv2d(_unpooled(gradient, hidden1, places1), back[0], padding=1)
    return out, gradient
