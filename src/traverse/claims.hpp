// How a shard of a BFS learns which of its vertices other shards reached: it merges their bits, one word per lane, then copies the parents,
// one vertex per lane, so that neighboring lanes read neighboring words of the other shard's memory.
#pragma once
#include "core/exec.hpp"

namespace garner::detail {

struct note_found {
  std::uint32_t const* theirs;
  std::uint32_t *visited, *found;
  std::uint64_t words, *taken;
  static constexpr std::uint64_t block = 1024;  // words per team
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    std::uint64_t const mine = t.sum(indices{b * block, smaller(words, (b + 1) * block)}, [&](std::uint64_t w) {
      std::uint32_t const more = theirs[w] & ~visited[w];
      found[w] = more;
      if (more) visited[w] |= more;
      return static_cast<std::uint64_t>(count_bits(more));
    });
    t.once([&] {
      if (mine) atomic_add(taken, mine);
    });
  }
};
template <class Id>
struct take_parents {
  std::uint32_t const* found;
  Id const* theirs;
  Id* parent;
  std::uint64_t words;
  static constexpr std::uint64_t block = 8;  // words per team
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    for (std::uint64_t w = b * block; w < smaller(words, (b + 1) * block); ++w) {
      std::uint32_t const bits = found[w];
      if (!bits) continue;
      t.each(indices{w * 32, w * 32 + 32}, [&](std::uint64_t v) {
        if (bits >> v % 32 & 1) parent[v] = theirs[v];
      });
    }
  }
};

}  // namespace garner::detail
