// Shared by the tests of training: what a training needs, on a device, and a suite over kinds of models and ways to train them.
#pragma once
#include <gmock/gmock.h>

#include "files/files.hpp"
#include "nn/communities.hpp"
#include "nn/model.hpp"
#include "support.hpp"

namespace garner::testing {

enum class strategy { full, drawn };
inline training_options options_of(strategy w) {
  training_options o;
  if (w == strategy::drawn) o.fanouts = {3, 3};
  o.batch_size = 32, o.dropout = 0.3, o.input_dropout = 0.1, o.learning_rate = 0.02;
  return o;
}

// Everything that a training needs, on a device.
struct lesson {
  communities of;
  graph_handle g;
  tiered_tensor features;
  gnn_model model;
  std::optional<training> run;

  static tiered_options tiers(execution_device p) {
    tiered_options t;
    t.device = p;
    if (p.kind != device_kind::cpu) t.feature_cache = 50 * 32;
    return t;
  }
  lesson(execution_device p, model_options const& m, training_options const& o, communities c = communities())
      : of(std::move(c)), g(to_device(of.graph(weighted()), p, tier::host)), features(of.table(), tiers(p)), model(p, m) {
    run.emplace(model, g, features, m.labels == label_kind::single_label ? of.known() : labeled_nodes{of.yes_or_no(), of.split}, o);
  }
  lesson(execution_device p, model_kind kind, strategy w) : lesson(p, communities().model(kind), for_kind(kind, w)) {}
  static training_options for_kind(model_kind kind, strategy w) {
    training_options o = options_of(w);
    if (kind == model_kind::gin) o.learning_rate = 0.01, o.input_dropout = 0, o.dropout = 0.1;  // its sums are large
    return o;
  }
  static build_options weighted() {
    build_options b;
    b.undirected = true;
    b.random_weights = build_options::weight_options{weight_kind::f32, 0.5, 2, 3};
    return b;
  }
  std::vector<float> values() {
    auto& [x, o, net] = model.inside();
    return host_copy(x, net.values(), net.count());
  }
  std::vector<float> after(int epochs) {
    for (int k = 0; k < epochs; ++k) run->next();
    return values();
  }
};

struct of_kind : in_a_folder, ::testing::WithParamInterface<std::tuple<model_kind, strategy>> {
  model_kind kind() const { return std::get<0>(GetParam()); }
  strategy by() const { return std::get<1>(GetParam()); }
};
#define GARNER_OF_EVERY_KIND()                                                                                       \
  INSTANTIATE_TEST_SUITE_P(each, of_kind,                                                                            \
                           ::testing::Combine(::testing::Values(model_kind::gcn, model_kind::sage, model_kind::gin), \
                                              ::testing::Values(strategy::full, strategy::drawn)),                   \
                           [](auto const& info) {                                                                    \
                             return std::string(to_string(std::get<0>(info.param))) +                                \
                                    (std::get<1>(info.param) == strategy::full ? "_full" : "_drawn");                \
                           })

}  // namespace garner::testing
