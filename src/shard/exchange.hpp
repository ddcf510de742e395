// Kernels that fetch rows of other shards, and reduce numbers of all shards: they read peer tables in place.
#pragma once
#include <cstdint>

#include "core/executor.hpp"
#include "shard/group.hpp"

namespace garner {

// Row which[k] (null: k) of a shard as it lies there, `bytes` of it (an even number), one after the other. Each crosses the link once.
void move_rows(executor& x, peer_table::part const& from, std::uint32_t const* which, std::uint64_t count, std::uint64_t bytes, void* to);
// to[k] = row which[k] (null: k) of that shard, `columns` numbers each, stored there as `wire`. Each crosses the link once.
void bring_rows(executor& x, peer_table const& table, std::uint32_t shard, std::uint32_t const* which, std::uint64_t count,
                std::uint64_t columns, element wire, float* to);
// to[places[k]] = row k of that shard, `columns` floats each.
void put_rows(executor& x, peer_table const& table, std::uint32_t shard, std::int64_t const* places, std::uint64_t count,
              std::uint64_t columns, float* to);
// Row which[k], `bytes` of it (an even number), one after the other.
void pick_rows(executor& x, void const* rows, std::uint64_t row_bytes, std::uint32_t const* which, std::uint64_t count, std::uint64_t bytes,
               void* to);
// Rows rounded to 16 bits, one after the other; `stride`: floats from one to the next before.
void pack_rows(executor& x, float const* rows, std::uint64_t stride, std::uint64_t count, std::uint64_t columns, element wire,
               std::uint16_t* to);
// to[i] = the sum over shards, in their order, and of each over its rows, of number i.
void sum_of_rows(executor& x, peer_table const& table, std::uint64_t numbers, float* to);

}  // namespace garner
