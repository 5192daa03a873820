"""Work that is recorded once and then replayed on the GPU without the host."""

import torch
import torch._dynamo


def fresh():
    """Forgets what was compiled for earlier networks of this process. They count toward a limit above which nothing is compiled."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 64


class Compiled:
    """A function compiled where that works, and as it is elsewhere."""

    def __init__(self, function, device):
        self.function = torch.compile(function, dynamic=False) if device.type == "cuda" else function
        self.plain = function

    def __call__(self, *arguments):
        try:
            return self.function(*arguments)
        except Exception as error:  # noqa: BLE001 - a compiler may fail in any way; without it the result is the same
            if self.function is self.plain:
                raise
            print(f"not compiled: {type(error).__name__}: {str(error)[:300]}", flush=True)
            self.function = self.plain
            return self.function(*arguments)


def captured(step, device):
    """Three calls to warm up, then one as a CUDA graph; returns what runs it again."""
    if device.type != "cuda":
        return step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def rewound(parameters, optimizer, make):
    """What `make` returns, with parameters as before it and an optimizer that has done nothing: capturing trains a little."""
    before = [value.detach().clone() for value in parameters]
    made = make()
    with torch.no_grad():
        for value, old in zip(parameters, before, strict=True):
            value.copy_(old)
        for state in optimizer.state.values():
            for value in state.values():
                if torch.is_tensor(value):
                    value.zero_()
    return made
