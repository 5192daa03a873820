"""PreAct-ResNet-18 (He et al. 2016) for images of 32 x 32, as in the code of Wong et al., "Fast is better than free"."""

import torch
import torch.nn.functional as F
from torch import nn

MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2471, 0.2435, 0.2616)


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.shortcut = None
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(out)
        out = self.conv1(out)
        return self.conv2(F.relu(self.norm2(out))) + shortcut


class PreActResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.dtype = None
        """Of the weights, if they are all of one type other than the images'."""
        self.register_buffer("mean", torch.tensor(MEAN).reshape(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).reshape(1, 3, 1, 1))
        self.conv = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        blocks, channels_in = [], 64
        for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Block(channels_in, channels, stride), Block(channels, channels, 1)]
            channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(512)
        self.linear = nn.Linear(512, 10)

    def forward(self, x):
        return self.linear(self.features(x))

    def features(self, x):
        x = (x - self.mean) / self.deviation
        out = self.conv(x if self.dtype is None else x.to(self.dtype))
        out = F.relu(self.norm(self.blocks(out)))
        return out.mean((2, 3))
