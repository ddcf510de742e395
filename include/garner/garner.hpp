// Garner's contract, all of it: a table of contents.
#pragma once
#include "garner/aggregate.hpp"   // block_aggregation, list_sums, shard_aggregation: sums, means and GCN's over a block, lists or a part
#include "garner/blocks.hpp"      // block_sampler, blocks: mini-batches, by neighbour sampling
#include "garner/build.hpp"       // build_info: version, GPU support, devices; parse_bytes
#include "garner/components.hpp"  // components_options, components_run
#include "garner/doctor.hpp"      // examine_machine: whether Garner works here, and what helps
#include "garner/embedding.hpp"   // embedding: rows that a model learns, in several tiers, with their optimiser's state
#include "garner/error.hpp"       // error, errc: the one exception type
#include "garner/features.hpp"    // unified_tensor, tiered_tensor: rows in several tiers, gathered
#include "garner/gnn.hpp"         // gnn_model, training, infer: GCN, GraphSAGE and GIN, trained and inferred exactly
#include "garner/graph.hpp"       // graph_info, build_options, build_report, generate_options, weight_kind
#include "garner/handle.hpp"      // graph_handle; open_graph, build_graph, generate_graph, reorder_graph, save_graph, convert_graph
#include "garner/hetero.hpp"      // hetero_graph: several types of vertices and edges; convert_hetero: of data sets
#include "garner/jobs.hpp"        // bfs, sssp, components, pagerank; bfs_search and sssp_search for many sources
#include "garner/load.hpp"        // loader, mini_batch: sampled ahead, rows gathered, handed over in time
#include "garner/pagerank.hpp"    // pagerank_options, pagerank_run
#include "garner/paper.hpp"       // walk_options: what repeats the paper
#include "garner/place.hpp"       // place (where code runs), tier (where bytes lie), access_mode (how a team reads a run)
#include "garner/sample.hpp"      // scores, draw_training_set, record_trace, permute_table: which rows a training reads
#include "garner/shards.hpp"      // shard_options, split_report: a whole graph over several places
#include "garner/shared.hpp"      // shared_table: one host table for several processes
#include "garner/split.hpp"       // graph_part, split_sampler: mini-batches of a graph that is split over processes
#include "garner/spread.hpp"      // job_shard: what each of several places had of a job
#include "garner/sssp.hpp"        // sssp_options, sssp_run, sssp_round
#include "garner/stream.hpp"      // stream_ref: a stream of the caller
#include "garner/traffic.hpp"     // traffic: requests by size, amplification, overfetch
#include "garner/traverse.hpp"    // bfs_options, bfs_run, bfs_level
