# SPDX-License-Identifier: MIT
"""A small model trains identically with inlay's and PyTorch's input layer: embedding, positions, an attention block."""

import numpy
import pytest

torch = pytest.importorskip("torch", reason="there is no PyTorch")

# pylint: disable=wrong-import-position
from torch import nn

import inlay
import inlay.torch

# Outputs of 192 KiB, written by two threads.
VOCAB, DIM, BATCH, LENGTH, STEPS = 40, 128, 32, 12, 100


class Plain(nn.Module):
    """The input layer as PyTorch operators."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(VOCAB, DIM))
        self.register_buffer("positions", torch.from_numpy(inlay.sinusoid(numpy.arange(LENGTH), DIM)))

    def forward(self, ids):
        return nn.functional.embedding(ids, self.weight) * DIM**0.5 + self.positions


class Translator(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.inputs = inputs
        self.block = nn.TransformerEncoderLayer(DIM, 4, 2 * DIM, dropout=0.0, batch_first=True)
        self.words = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.words(self.block(self.inputs(ids)))


def train(inputs):
    """Returns the loss of each step. The target language has other words in the opposite order."""
    torch.manual_seed(5)
    model = Translator(inputs)
    nn.init.normal_(model.inputs.weight, std=DIM**-0.5)
    dictionary = torch.randperm(VOCAB)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(STEPS):
        ids = torch.randint(VOCAB, (BATCH, LENGTH))
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), dictionary[ids].flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return numpy.array(losses)


@pytest.fixture
def one_thread():
    """On one thread, PyTorch's sums have the same bits in each run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def plain_losses():
    return train(Plain())


def made():
    return inlay.torch.InputLayer(VOCAB, DIM, positions=inlay.Sinusoid(), scale="sqrt")


def test_losses_are_those_of_torch(one_thread, plain_losses):
    """Both start at ln(40) = 3.7 and learn. The order of gradient sums differs, and training amplifies the last bits."""
    losses = train(made())
    assert losses[0] == pytest.approx(plain_losses[0], abs=1e-5) and losses[0] > 3.5
    assert losses[-10:].mean() < 0.5 * losses[0]
    differences = abs(losses - plain_losses)
    print(f"from {losses[0]:.3f} to {losses[-1]:.3f}; differs by {differences.max():.1e} at most")
    assert differences[:20].max() < 1e-5 and differences.max() < 1e-2


def test_losses_have_the_same_bits_for_any_number_of_threads(one_thread, threads):
    threads(1)
    one = train(made())
    threads(2)
    assert numpy.array_equal(one, train(made()))
