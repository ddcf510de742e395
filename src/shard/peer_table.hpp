// Addresses of the rows of all shards: base pointers and sizes. Kernels read only this; row_access.hpp fills it in.
#pragma once
#include <cstdint>

#include "core/mark.hpp"
#include "shard/parts.hpp"

namespace garner {

struct peer_table {
  struct part {
    void const* base = nullptr;
    std::uint64_t rows = 0, row_bytes = 0;  // from one row to the next
    template <class T>
    GARNER_HD T const* row(std::uint64_t i) const {
      return reinterpret_cast<T const*>(static_cast<char const*>(base) + i * row_bytes);
    }
  };
  part of[shard_parts::most];
  std::uint32_t shards = 0;
  template <class T>
  GARNER_HD T const* row(std::uint32_t shard, std::uint64_t i) const {
    return of[shard].template row<T>(i);
  }
};

}  // namespace garner
