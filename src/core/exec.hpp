// How a kernel runs on every device. Only the headers of core/exec/ depend on the processor.
//
// A kernel is a named functor, the body of one loop, written once:
//   struct expand { ...views...; template <class Team> GARNER_HD void operator()(Team t, std::uint64_t item) const; };
//   for_each_item<32>(executor, n, expand{...});
// It never sees a lane and never indexes remote memory; it calls its team, which is
//   host     one thread of the thread pool,
//   device   Width lanes of a warp,
//   simulated   Width simulated lanes: the results of one thread, and a trace of what the lanes would request in each step.
// Invariant: every device visits every item once; each element of a span is passed to exactly one lane. Collectives (any, sum, min) return
// the same value to all lanes of a team and must be reached by all of them.
// Order of a span: step k covers elements first + k * Width ...; `first` is the span's begin, or for aligned access the start of the line
// of 128 bytes that holds it (lanes before begin are idle), so that every later step is a whole line (Listing 2.2 of the dissertation;
// EMOGI, PVLDB 14(2) 2020). Four steps are in flight at a time, since a read over the link takes a microsecond or more.
#pragma once
#include "core/exec/atomics.hpp"  // atomics; arithmetic under one name
#include "core/exec/launch.hpp"   // for_each_item
#include "core/exec/system.hpp"   // words between threads, and across the link
#include "core/exec/team.hpp"     // team: the operations of a kernel
