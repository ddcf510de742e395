// Kernels of one statement per item.
#pragma once
#include <cstdint>

#include "core/mark.hpp"

namespace garner {

template <class T>
struct set_each {
  T *at, to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    at[i] = to;
  }
};
template <class T>
struct number_each {
  T* at;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    at[i] = static_cast<T>(i);
  }
};
template <class From, class To>
struct narrow_each {
  From const* from;
  To* to;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    to[i] = static_cast<To>(from[i]);
  }
};

}  // namespace garner
