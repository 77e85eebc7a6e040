"""Paged attention for decoding: few new query tokens a sequence attend to keys and values kept in scattered pages.

Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (arXiv 2309.06180),
with grouped-query heads (Llama-3.1-70B: 8 query heads share a key/value head).

- `q` [rows, query heads, head_dim]: the new tokens of all sequences, one after the other.
- `k_pages`, `v_pages` [pages, page_size, kv heads, head_dim]: the cache.
- `kv_lens` [sequences]: tokens of each sequence in the cache, the new ones included.
- `page_indices` [sequences, pages_per_seq]: which page holds tokens page_size * j onwards of a sequence.
- `cu_q_lens` [sequences + 1]: sequence s owns rows cu_q_lens[s] to cu_q_lens[s + 1] (exclusive) of `q`.

Row r of sequence s sits at position kv_lens[s] - (cu_q_lens[s + 1] - r) and sees positions up to its own. There are as
many rows as sequences. The published workload gives every sequence exactly one row, so `cu_q_lens` is always
0, 1, 2, ... and its output does not depend on it; here a sequence has zero, one or a few (speculative decoding).
Queries have a standard deviation of 3, so that attention is peaked and outputs are of order one.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "model": "Llama-3.1-70B",
    "operator": "paged_attention",
    "num_seqs": 64,
    "max_seq_len": 4096,
    "num_query_heads": 64,
    "num_kv_heads": 8,
    "head_dim": 128,
    "page_size": 16,
    "pages_per_seq": 256,
}

# Heads stay as they are: the last two dimensions of a page are its tile.
CHECK = {"num_seqs": 8, "max_seq_len": 256, "pages_per_seq": 16}

# As for full attention: scaling the queries before they are rounded moves peaked weights by more than 1e-2.
TOLERANCE = (3e-2, 1e-2)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    num_seqs, head_dim = CONFIG["num_seqs"], CONFIG["head_dim"]
    pages = num_seqs * CONFIG["pages_per_seq"]
    page_shape = (pages, CONFIG["page_size"], CONFIG["num_kv_heads"], head_dim)
    q_key, k_key, v_key, lens_key, pages_key, owner_key = jax.random.split(jax.random.key(seed), 6)
    q = (3.0 * jax.random.normal(q_key, (num_seqs, CONFIG["num_query_heads"], head_dim), jnp.float32)).astype(dtype)
    k_pages = jax.random.normal(k_key, page_shape, jnp.float32).astype(dtype)
    v_pages = jax.random.normal(v_key, page_shape, jnp.float32).astype(dtype)
    # No sequence is shorter than the rows it could own.
    kv_lens = jax.random.randint(lens_key, (num_seqs,), num_seqs, CONFIG["max_seq_len"] + 1, jnp.int32)
    page_indices = jax.random.permutation(pages_key, jnp.arange(pages, dtype=jnp.int32)).reshape(num_seqs, -1)
    owners = jax.random.randint(owner_key, (num_seqs,), 0, num_seqs, jnp.int32)
    rows = jnp.zeros(num_seqs, jnp.int32).at[owners].add(1)
    cu_q_lens = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(rows, dtype=jnp.int32)])
    return q, k_pages, v_pages, kv_lens, page_indices, cu_q_lens


def workload(q, k_pages, v_pages, kv_lens, page_indices, cu_q_lens):
    rows, query_heads, head_dim = q.shape
    kv_heads = k_pages.shape[2]
    row = jnp.arange(rows, dtype=jnp.int32)
    sequence = jnp.searchsorted(cu_q_lens, row, side="right") - 1
    last_position = kv_lens[sequence] - (cu_q_lens[sequence + 1] - row)
    k = k_pages[page_indices[sequence]].reshape(rows, -1, kv_heads, head_dim)
    v = v_pages[page_indices[sequence]].reshape(rows, -1, kv_heads, head_dim)
    grouped = q.reshape(rows, kv_heads, query_heads // kv_heads, head_dim)
    scores = jnp.einsum("rhgd,rthd->rhgt", grouped, k, preferred_element_type=jnp.float32) * head_dim**-0.5
    visible = jnp.arange(k.shape[1], dtype=jnp.int32)[None, :] <= last_position[:, None]
    weights = jax.nn.softmax(jnp.where(visible[:, None, None, :], scores, -jnp.inf), axis=-1)
    out = jnp.einsum("rhgt,rthd->rhgd", weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
    return out.reshape(q.shape).astype(q.dtype)


def get_flops():
    """Return the two matmuls over full caches; the work that the lengths leave is about half of it."""
    heads, width = CONFIG["num_query_heads"], CONFIG["pages_per_seq"] * CONFIG["page_size"]
    return 4 * CONFIG["num_seqs"] * heads * width * CONFIG["head_dim"]
