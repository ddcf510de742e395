// How rows of other shards come, and how numbers of all shards are added up: bodies over peer tables, read where they lie.
#pragma once
#include <cstdint>

#include "core/executor.hpp"
#include "shard/group.hpp"

namespace garner {

// to[k] = row which[k] of that shard, `columns` floats each. Each crosses the link once.
void bring_rows(executor& x, peer_table const& table, std::uint32_t shard, std::uint32_t const* which, std::uint64_t count,
                std::uint64_t columns, float* to);
// to[i] = the sum over shards, in their order, and of each over its rows, of number i.
void sum_of_rows(executor& x, peer_table const& table, std::uint64_t numbers, float* to);

}  // namespace garner
