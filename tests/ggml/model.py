#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a small language model with random weights and a tied output layer as a GGUF file.

    model.py ARCHITECTURE PATH

ARCHITECTURE is llama, or gemma, which scales the rows of its table. It has two layers of dim 1024 and 32,768 tokens:
the 256 bytes, and words that don't occur in texts. llama.cpp runs it; its text is meaningless, but always the same.
"""
import sys

import gguf
import numpy

VOCAB, DIM, LAYERS, HEADS, INNER, CONTEXT = 32_768, 1024, 2, 8, 2048, 4096
# Layers must outweigh the last token's row, which is also in the output layer, or the model would repeat it.
GAIN = 30


def add_tokens(writer):
    """Adds a SentencePiece vocabulary: special tokens, bytes, words."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    words = VOCAB - len(tokens)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens + [f"\u2581w{word}" for word in range(words)])
    writer.add_token_scores([0.0] * len(tokens) + [-float(word) for word in range(words)])
    writer.add_token_types(kinds + [gguf.TokenType.NORMAL] * words)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def add_settings(writer):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(DIM // HEADS)
    writer.add_value_length(DIM // HEADS)
    writer.add_rope_dimension_count(DIM // HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCAB)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def add_weights(writer):
    random = numpy.random.default_rng(1)

    def matrix(name, rows, columns, gain=1):
        values = random.standard_normal((rows, columns), numpy.float32) * numpy.float32(gain / columns**0.5)
        writer.add_tensor(name + ".weight", values.astype(numpy.float16))

    def norm(name):
        writer.add_tensor(name + ".weight", numpy.ones(DIM, numpy.float32))

    matrix("token_embd", VOCAB, DIM)
    norm("output_norm")
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm")
        for name in ("attn_q", "attn_k", "attn_v"):
            matrix(block + name, DIM, DIM)
        matrix(block + "attn_output", DIM, DIM, GAIN)
        norm(block + "ffn_norm")
        matrix(block + "ffn_gate", INNER, DIM)
        matrix(block + "ffn_up", INNER, DIM)
        matrix(block + "ffn_down", DIM, INNER, GAIN)


def main():
    architecture, path = sys.argv[1:]
    writer = gguf.GGUFWriter(path, architecture)
    add_settings(writer)
    add_tokens(writer)
    add_weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
