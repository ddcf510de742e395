// How a loop body runs at every place. The headers of core/exec/ are the only ones that know the processor.
//
// A body is a named functor, the loop body of one kernel, written once:
//   struct expand { ...views...; template <class Team> GARNER_HD void operator()(Team t, std::uint64_t item) const; };
//   for_each_item<32>(executor, n, expand{...});
// It never sees a lane and never indexes far memory; it asks its team, which is
//   host     one thread of the thread pool,
//   device   Width lanes of a warp,
//   simulated   Width simulated lanes: the same answers as one thread, and a record of what the lanes would ask for in each step.
// Invariant: every place visits every item once; each element of a span is handed to exactly one lane. Collectives (any, sum, min) give
// the same value to all lanes of a team and must be reached by all of them.
// How the lanes meet a span: step k covers elements first + k * Width ...; `first` is the span's begin, or for aligned access the start of
// the line of 128 bytes that holds it (lanes before begin are idle), so that every later step is a whole line (Listing 2.2 of the
// dissertation; EMOGI, PVLDB 14(2) 2020). Four steps are in flight at a time, since a read over the link takes a microsecond or more.
#pragma once
#include "core/exec/atomics.hpp"  // atomics; arithmetic under one name
#include "core/exec/launch.hpp"   // for_each_item
#include "core/exec/system.hpp"   // words between threads, and across the link
#include "core/exec/team.hpp"     // team: what a body may ask for
