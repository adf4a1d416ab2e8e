# SPDX-License-Identifier: MIT
"""The n-gram hash in PyTorch's int64 operations, as in the models' own code and with fewer operations.

Each function returns a function from ids [1, tokens] and the history before them [1, length - 1] to row ids [tokens,
columns].
"""


def parameters(torch, made):
    moduli = [torch.from_numpy(made.moduli[made.lengths == n]) for n in range(2, made.family.length + 1)]
    return torch.from_numpy(made.multipliers), moduli, torch.from_numpy(made.offsets)


def qwen(torch, made):
    """The operations of Qwen4ExpTextNGramEmbedding in transformers, after its cache."""
    multipliers, moduli, offsets = parameters(torch, made)
    end, per_length = made.pad, made.per_length

    def shifted(ids, shift):
        if shift == 0:
            return ids
        positions = torch.arange(ids.shape[1])
        ends = torch.where(ids == end, positions, -1)
        until = torch.cummax(ends, dim=1).values
        start = torch.cat([ends.new_full((ids.shape[0], 1), -1), until[:, :-1]], dim=1) + 1
        source = positions - shift
        taken = ids.gather(1, source.clamp_min(0).unsqueeze(0).expand(ids.shape[0], -1))
        valid = (positions.unsqueeze(0) - start >= shift) & (source.unsqueeze(0) >= 0)
        return torch.where(valid, taken, ids.new_full((), end))

    def rows_of(ids, history):
        tokens = torch.cat([history, ids], dim=-1)
        places = [shifted(tokens, shift) for shift in range(made.family.length)]
        blocks = []
        for length in range(2, made.family.length + 1):
            mixed = places[0] * multipliers[0]
            for place in range(1, length):
                mixed = torch.bitwise_xor(mixed, places[place] * multipliers[place])
            begin = (length - 2) * per_length
            row = torch.remainder(mixed.unsqueeze(-1), moduli[length - 2].view(1, 1, -1))
            blocks.append(row + offsets[begin : begin + per_length].view(1, 1, -1))
        return torch.cat(blocks, dim=-1)[0, -ids.shape[1] :]

    return rows_of


def engram(torch, made):
    """The operations of sglang's EngramHasher for one sequence without images, on a CPU."""
    multipliers, moduli, offsets = parameters(torch, made)
    token_map, most = torch.from_numpy(made.token_map), made.family.length
    shifts, seen = torch.arange(most), 1000  # tokens before the call

    def rows_of(ids, history):
        ids = ids[0]
        offset = torch.arange(ids.shape[0])
        from_call = shifts.unsqueeze(0) <= offset.unsqueeze(-1)
        in_call = ids[(offset.unsqueeze(-1) - shifts).clamp_min(0)]
        column = (most - 2 - (shifts.unsqueeze(0) - offset.unsqueeze(-1) - 1)).clamp(0, most - 2)
        tokens = torch.where(from_call, in_call, history.expand(len(offset), -1).gather(1, column))
        blocked = (offset + seen).unsqueeze(-1) < shifts
        products = torch.where(blocked, made.pad, token_map[tokens]) * multipliers
        rolling, parts = products[..., 0], []
        for i in range(1, most):
            rolling = torch.bitwise_xor(rolling, products[..., i])
            parts.append(rolling.unsqueeze(-1) % moduli[i - 1])
        return torch.cat(parts, dim=-1) + offsets

    return rows_of


def tuned(torch, made):
    """Both families, with as few operations as eager PyTorch allows."""
    multipliers, moduli, offsets = parameters(torch, made)
    multipliers = multipliers.tolist()
    length, token_map = made.family.length, None if made.token_map is None else torch.from_numpy(made.token_map)

    def rows_of(ids, history):
        ids = torch.cat([history[0], ids[0]])
        most, words = len(ids), ids if token_map is None else token_map.index_select(0, ids)
        if made.resets:
            positions = torch.arange(most)
            ends = torch.where(ids == made.pad, positions, -1).cummax(0).values[length - 2 : most - 1]
        mixed, parts = words[length - 1 :] * multipliers[0], []
        for s in range(1, length):
            word = words[length - 1 - s : most - s]
            if made.resets:
                word = torch.where(ends < positions[length - 1 - s : most - s], word, made.pad)
            mixed = mixed ^ word * multipliers[s]
            parts.append(mixed.unsqueeze(-1).remainder(moduli[s - 1]))
        return torch.cat(parts, 1).add_(offsets)

    return rows_of
