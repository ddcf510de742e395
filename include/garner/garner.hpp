// Garner's complete public API: a table of contents.
#pragma once
#include "garner/aggregate.hpp"   // block_aggregation, list_sums, shard_aggregation: aggregation over a subgraph, adjacency or one part
#include "garner/algorithms.hpp"  // bfs, sssp, components, pagerank; X_solver for several runs; X_options, X_run, X_result
#include "garner/build.hpp"       // build_info: version, GPU support, devices; parse_bytes
#include "garner/convert.hpp"     // file_format, inspect_graph, convert_rows: files of graphs and feature tables
#include "garner/device.hpp"      // execution_device, tier (memory tier), access_mode (how a team reads a segment)
#include "garner/doctor.hpp"      // examine_machine: checks whether Garner works here, with advice
#include "garner/embedding.hpp"   // embedding: trainable rows in several tiers, with their optimizer's state
#include "garner/error.hpp"       // error, errc: the one exception type
#include "garner/features.hpp"    // unified_tensor, tiered_tensor: feature rows in several tiers, gathered
#include "garner/files.hpp"       // write_file: whole or not at all
#include "garner/gnn.hpp"         // gnn_model, training, infer: GCN, GraphSAGE and GIN, trained and inferred exactly
#include "garner/graph.hpp"       // graph_info, build_options, build_report, generate_options, weight_kind
#include "garner/handle.hpp"      // graph_handle; open_graph, build_graph, generate_graph, reorder_graph, save_graph, convert_graph
#include "garner/hetero.hpp"      // hetero_graph: several node and edge types; convert_hetero: from public datasets
#include "garner/link.hpp"        // link_of, measure_drive: measured rates of links, host memory and drives
#include "garner/load.hpp"        // loader, mini_batch: sampled and gathered ahead of use
#include "garner/memory.hpp"      // host_memory, memory_use: what the host has, what Garner may take and takes
#include "garner/progress.hpp"    // set_progress_listener; phases and counters
#include "garner/put_rows.hpp"    // put_rows: rows of a file replaced where they stand, old or new on a crash too
#include "garner/sample.hpp"      // scores, pick_training_set, record_trace, permute_table: predicted row accesses of a training
#include "garner/shards.hpp"      // shard_options, split_report, graph_part, split_sampler: a graph split over devices or processes
#include "garner/shared.hpp"      // shared_table: one host table for several processes
#include "garner/stream.hpp"      // stream_ref: the caller's CUDA stream
#include "garner/subgraph.hpp"    // block_sampler, sampled_subgraph: mini-batches by neighbor sampling
#include "garner/traffic.hpp"     // traffic: requests by size, amplification, overfetch
