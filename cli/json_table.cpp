// The keys of every JSON object that the program prints: the one place where they are written down, with those of command/schema.cpp.
// `garner schema VERB` and the second half of docs/reference/json.md are made from it; tests/tools/schema_test.py compares it with
// what the verbs print, so a new key is added here too.
//
// "= VERB [WHICH]: what prints it" begins an object, "= @GROUP" keys that several objects share (with a title: they are a section of the
// page), "= type NAME: TYPE" names a type. A line is "KEYS: TYPE; MEANING", and what a key holds follows with two blanks more. "KEY?" may
// be missing. As many meanings as keys, with "; " between them, are one per key. "@GROUP" stands for the keys of the group.
// TYPE is int, num, str, bool, {} (an object), a number, a word in quotes (or several, with | between them) or the name of a type. With []
// behind it: a list of such; {}: an object whose keys are those of the data; ?: or null.
#include "verbs.hpp"

namespace garner {

std::string_view json_table() {
  return R"(
= type bound: 'exactly'|'at most'|'at least'|'about'|'usually below'

= @algorithm: Keys of all algorithms
  file: str; the graph
  vertices edges: int; an undirected edge is stored and counted twice
  directed: bool
  id_bytes: int; bytes per stored id
  in_edges_built_ms: num?; time to build the CSC of a directed graph whose file has none
  device: str; as --device
  tier: tier; where the edges are
  tier_chosen: bool; Garner chose the memory tier
  access: access; how they are read
  variant: str
  l2_bytes: int; modeled L2 of a simulated device, 0: none
  prepare_ms: num; time before the first run's clock
  first_ms: num; the first run, and the time before it
  graph_cache: int?; GPU memory allowed for the cache, in bytes
  graph_cache_parts: {}[]; one per cached array
    what: str; its name
    bytes: int
    ms: num; time to build it
  device_memory host_budget: int?; limits, in bytes, or null: none
  state_bytes: int; memory of the algorithm's state
  checked: bool; checksums were checked
  verified: bool; every run was verified
  simulated: bool; times are those of a simulated run
  modeled: bool; on a device: requests follow the traffic model and were not counted

= @link: Link figures
  bytes_link: int?; bytes over the link; null where the link stays idle (CPU, edges in GPU memory)
  amplification: num?; bytes over the link, divided by the edge list (sssp: and weights)
  overfetch: num?; bytes over the link, divided by the bytes requested
  requests: {}?; number of requests by size
    32 64 96 128: int; of so many bytes
    pages: int; of 4 KiB
  adjacency_reads: {}?; tier file: what was read of the file; else null
    @reads
    @shares
    gbs: num?; bytes read, divided by the time of the run
    waited_ms: num; time that the algorithm waited for the drive

= @shards
  shards: {}[]; several devices: one per device that ran; else empty
    device: str
    vertices edges: int; of its part
    bytes_link: int; bytes over its link
    bytes_exchanged: int; bytes from other devices
    ms: num; its own time

= @rate
  bytes_link: int?; bytes over the link; null where the link stays idle
  ms: num; time
  gbs: num?; over the link during that time; null where nothing is timed

= bfs: `garner bfs --json`
  @algorithm
  cached_neighbors vertices_per_team slice: int; how adjacency was distributed over teams
  split_hubs join_adjacency queue_small: bool; how adjacency was distributed over teams
  each_ms: num; time per run, the median
  runs: {}[]; one per source
    source: int
    reached edges: int; nodes reached; edges that leave them
    depth_max depth_sum: int; over the reached nodes
    ms prepare_ms: num; time; time before its clock
    gteps: num; 10^9 edges per second, each undirected edge once
    @link
    verified: bool
    levels: {}[]; one per depth
      frontier edges: int; nodes at this depth; edges seen
      bottom_up: bool; the level ran bottom-up, so that some edges were skipped
      bytes_exchanged: int; bytes between devices
      @rate
    @shards

= sssp: `garner sssp --json`
  @algorithm
  weights: 'u32'|'f32'
  delta: num?; the initial threshold, of near-far
  vertices_per_team slice: int; how adjacency was distributed over teams
  split_hubs join_adjacency: bool; how adjacency was distributed over teams
  each_ms: num; time per run, the median
  runs: {}[]; one per source
    source: int
    reached edges: int; nodes reached; relaxations
    distance_max distance_sum: num; over the reached nodes, whole numbers for u32
    thresholds: int; how often the threshold advanced
    ms: num; time
    @link
    verified: bool
    rounds: {}[]; one per round
      frontier edges: int; nodes; relaxations
      @rate

= components: `garner components --json`
  @algorithm
  components largest: int; number of components; number of nodes in the largest
  first_neighbors slice vertices_per_team: int; how it was computed
  ms_median each_ms: num; time per run, the median
  runs: {}[]; one per run
    components largest: int
    edges: int; edges seen
    ms prepare_ms: num; time; time before its clock
    @link
    verified: bool
    phases: {}[]; one per phase
      phase: str; its name
      vertices edges: int
      bytes_exchanged: int; bytes between devices
      @rate
    @shards

= pagerank: `garner pagerank --json`
  @algorithm
  damping tolerance: num; parameters
  dangling: 'redistribute'|'drop'; rank of nodes without out-edges
  personal: int; lines of the file of --personalization
  weighted: bool
  iterations: int
  converged: bool; the tolerance was reached
  rank_sum: num
  l1_change: num; of the last iteration
  edges_seen: int; over all iterations
  ms ms_per_iteration: num; time
  @link
  top: {}[]; the highest ranks; ties by ascending id
    vertex: int
    rank: num
  rounds: {}[]; one per iteration
    vertices edges: int
    l1_change: num?; of pull
    bytes_exchanged: int; bytes between devices
    @rate
  @shards

= @memory
  memory: {}[]; what is allocated
    array: str
    tier: tier
    bytes: int
  host_bytes device_bytes: int; sums
  host_allowed device_allowed: int?; limits, null where unknown

= @verdict
  not_here?: str; why a time is missing here
  fits: bool
  why_not: str?; the refusal, or null

= plan: `garner plan --algorithm bfs`, or `sssp`, `components`, `pagerank`, with `--json`
  file graph: str; the graph; what it holds, in words
  vertices edges id_bytes: int
  algorithm: 'bfs'|'sssp'|'components'|'pagerank'
  variant device: str; the request
  tier: tier
  tier_chosen: bool; Garner chose the memory tier
  access: access
  @memory
  graph_cache_parts: {}[]; one per array that would be cached
    what: str
    bytes bytes_saved_on_link: int
  shards: {}[]; several devices: one per device; else empty
    device: str
    first vertices edges: int; its first node; its nodes; its edges
    adjacency_bytes bytes: int; of its adjacency; of all its memory
  crossings: {}[]; one per array that crosses the link
    what: str
    bound: bound
    before: bool; before the clock starts
    times: int?; null where the number is unknown
    bytes: int
    requests: {}; number of requests by size
      32 64 96 128: int; of so many bytes
      pages: int; of 4 KiB
  from_offsets: bool; computed from the real adjacency offsets; else as if all adjacency were one long list
  per: str; what bytes_link and ms are of: run, iteration or round
  bound: bound?; null where nothing crosses
  bytes_link: int; bytes over the link
  ms: {}; by link
    @by_link
  first_bytes_link: int; bytes of a first search with its preparation
  levels_cheaper_once: bool; variant levels reads less for one search
  levels_at_most: {}?; next to an estimate, what variant levels would read at most
    bytes_link: int
    ms: {}; by link
      @by_link
  alone: str?; of several devices, why the first runs alone; null: all run
  adjacency_reads: {}?; tier file: what is read of it; else null
    bytes: int
    bound: bound
    per: str
  @verdict

= @plan_load: Keys of plan load and plan train
  file graph: str; the graph; what it holds, in words
  nodes edges: int
  device: str; the request
  tier: tier; of the adjacency
  tier_chosen: bool; Garner chose the memory tier
  access: access
  fanouts: int[]?; -1: all neighbors; null: the full graph
  rule: 'all'|'last'
  batch: int; training nodes per mini-batch
  target: str?; dataset file: the type of the seeds; else null
  row_bytes: int?; bytes per feature row; null for a dataset file
  feature_cache_rows graph_cache_bytes: int; feature rows that are cached; bytes of adjacency that are cached
  strategy: str; of the loader
  window: int?; mini-batches per prefetch window; null: none
  from_offsets: bool; estimated from degrees, else from their mean
  training_nodes batches_per_epoch: int
  nodes_per_batch edges_per_batch: num; per mini-batch
  local_rows remote_rows window_rows fetched_rows: num; per mini-batch, as for load
  types: {}[]?; dataset file: one per node type; else null
    type: str
    nodes row_bytes feature_cache_rows: int
    local_rows remote_rows window_rows fetched_rows: num
  @memory
  sample fetch together: {}; per mini-batch, by the sampler; per mini-batch, by the features; per mini-batch, both
    bytes_link: int
    ms: {}; by link
      @by_link
  drive: {}; table in a file, per mini-batch
    file_rows file_reads: num; its rows there; rows read
    bytes: int; bytes read
    reads_per_second: num?; the drive's rate, measured or given
    ms epoch_ms: num?; for the reads of a mini-batch; for the reads of an epoch
  @verdict

= plan load: `garner plan --algorithm load --json`
  algorithm: 'load'
  @plan_load
  shards strategies: {}[]; of trainings; here empty
  activations: str?; of trainings with --full; here null

= plan train: `garner plan --algorithm train --json`
  algorithm: 'train'
  @plan_load
  activations: str?; with --full: where they stay until the backward pass, device, host or file
  scratch: {}?; folder of that file
    folder: str
    bytes: int; written per step, and read again
    written_bytes_per_second read_bytes_per_second: num?; measured there
    ms: num?; for both
  shards: {}[]; parts of a training with --full; empty: one part
    first: int; its first node
    nodes edges remote_rows_at_most: num
    bytes: int; memory
  strategies: {}[]; of such a training, the fastest first
    strategy: str
    shards: int
    predicted_ms floor_ms: num; aggregation per epoch; the least time that its bytes need
    bound: str; its bottleneck, in words
  training: {}; figures of one rank
    model: 'gcn'|'sage'|'gin'
    full: bool; full graph at every step
    parameters ranks: int
    steps: int; per epoch
    flops local_bytes_moved link_bytes: num; FLOP of GEMMs per epoch; bytes aggregated per epoch; bytes over the link per epoch
    evaluation_link_bytes: int; per full-neighbor evaluation
    reads: {}[]; one per array
      what: str
      batch epoch: {}; by where the bytes are stored
        local_bytes peer_bytes remote_bytes file_bytes: int
    assumed_flops assumed_local_bytes: num; rates assumed where no device was measured
    gemm_ms aggregation_ms: num?; times at those rates
    epoch_ms: {}; by link: the longest of link, drive and arithmetic
      @by_link
    bound_by: {}; by link: which of them
      here 12.3 24 51: 'link'|'drive'|'gemm'|'aggregation'?

= score: `garner score --json`
  file: str; the graph
  nodes edges: int
  in_edges_built_ms: num?; as for all algorithms; of sampled
  device: str; as --device
  tier: tier
  access: access
  by: str; which score
  training_nodes batch presample: int?; the training that it predicts; null where it predicts none
  fanouts: int[]?; of that training; -1: all neighbors
  iterations: int
  converged: bool
  ms: num; time
  bytes_link: int?; simulated: bytes over the link; else null
  top: {}[]; the highest scores
    node: int
    score: num

= @sampling: Keys of sample and load
  file: str; the graph
  nodes edges: int
  in_edges_built_ms: num?; as for all algorithms
  device: str; as --device
  tier: tier; where the adjacency is
  access: access
  fanouts: int[]; -1: all neighbors
  rule: 'all'|'last'
  side: 'in'|'out'
  replace disjoint weighted labor: bool; the sampler
  batch seed training_nodes: int; the training
  sampled_from: int?; number of nodes with neighbors, null with --train
  batches_per_epoch: int
  adjacency: str; where the adjacency is stored and which part is cached
  score: str?; which score chose what is cached; null: nothing is

= sample: `garner sample --json`
  @sampling
  batches: int; mini-batches sampled
  verified: int?; number of verified mini-batches; null: not requested
  sampler_bytes: int; memory of the sampler
  ms_mean ms_median: num?; per mini-batch by the sampler's own clock, without the first; null when simulated
  epochs: {}[]; one per epoch
    epoch batches nodes edges: int
    edges_per_batch_by_hop: int[]; sampled edges per mini-batch and hop
    ms_mean ms_median: num?; per mini-batch of this epoch, likewise
    bytes_link: int?; simulated: bytes over the link; else null

= @loaded
  batches seeds: int; mini-batches delivered; their training nodes
  ms ms_per_batch: num?; time, null when simulated; time per mini-batch, null when simulated
  sample_ms fetch_ms gather_ms: num?; per mini-batch, null when simulated; stages overlap; a fetch counts with the first of its window
  caller_waited_ms loader_waited_ms: num?; per mini-batch: the caller for it, null when simulated; the loader for the caller, likewise
  nodes edges: num; per mini-batch
  local_rows peer_rows remote_rows: num; per mini-batch, by where the rows are stored
  window_rows fetched_rows: num; remote rows found in the window; remote rows fetched
  window_hits: num?; fraction found in the window
  remote_bytes: num; bytes over the link per mini-batch
  remote_gbs fetch_gbs: num?; over the link during the whole time; over the link while fetching
  of_link: num?; fraction of the link's rate
  file_rows file_reads: num; table in a file: rows of it; table in a file: rows read
  file_hits: num?; table in a file: fraction found in memory
  file_gbs: num?; table in a file: read during the whole time
  file_waited_ms: num?; table in a file: time that the loader waited for the drive

= load: `garner load --json`
  @sampling
  row_bytes: int; bytes per feature row
  dtype features: str; element type of the features; where the feature rows are stored
  labels: str?; where the labels are stored
  strategy: str; of the loader
  window: int?; mini-batches per prefetch window
  prefetch multiprocessors: int; mini-batches made ahead; most multiprocessors, 0: all
  cache_policy: str?; table in a file: its cache, else null
  compute_ms: num; of the caller per mini-batch
  link_gbs: num?; the link's rate where known
  epochs: {}[]; one per epoch
    epoch: int
    @loaded
  all: {}; all epochs together, as far as timed
    @loaded
  batches timed_batches: int; mini-batches delivered; mini-batches timed, without warm-up
  ms_mean ms_median: num?; per mini-batch; the median is over stretches of one window
  local_bytes: int; memory of sampler, ring and window
  state: str; where it stopped: --resume takes it
  verified: int?; number of verified mini-batches; null: not requested

= @quality
  nodes: int; labeled nodes
  accuracy: num
  loss: num?; null where it is not finite
  auc: num?; of two classes, else null

= @training: Keys of train
  file: str; the graph
  nodes edges: int
  device: str; as --device
  ranks: int
  model: 'gcn'|'sage'|'gin'
  layers hidden inputs classes parameters: int; the model
  labels: 'single-label'|'multi-label'
  scaling: 'sum'|'length'|'none'
  fanouts: int[]?; -1: all neighbors; null: full graph at every step
  batch: int?; null: full graph at every step
  lr weight_decay dropout: num
  layer_norm residual: bool; of the layers, as set or by the number of training nodes
  most_epochs seed: int
  patience: int; evaluations without improvement before it stops, 0: never
  training_nodes validation_nodes test_nodes: int; the split
  not_captured: str?; why no CUDA graph was captured; null: captured, or not requested
  epochs: {}[]; one per epoch
    epoch steps: int; counted from 1; steps of the epoch
    loss: num?; over the training nodes; null where it is not finite
    accuracy: num; over the training nodes
    train_accuracy validation_accuracy test_accuracy: num?; over all neighbors; null where not evaluated
    validation_auc test_auc: num?; over all neighbors; of two classes; null where not evaluated
    ms: num; without its evaluation
    evaluation_ms: num?
    sample_ms fetch_ms gather_ms model_ms: num; by stage; stages overlap
    caller_waited_ms loader_waited_ms: num; time that the model waited for a mini-batch; time that the loader waited for the model
    local_rows peer_rows remote_rows: int; by where the rows are stored
    remote_bytes: int; bytes over the link
    window: int?; mini-batches per prefetch window; null with --full
    captured: int; --full on a device: kernels and copies per step in one CUDA graph; 0: not captured
    file_rows file_reads file_bytes: int; table in a file: rows of it; table in a file: rows read; table in a file: bytes read
    file_waited_ms: num; table in a file: time that the loader waited for the drive
    best: bool; the best so far
  stopped_early: bool; by patience
  best_epoch: int?; the epoch of the model
  train validation test: {}; quality of the model of the best epoch, by part of the split
    @quality
  validation_accuracy test_accuracy: num; of that model
  test_auc: num?; of that model
  local_bytes: int; local memory
  model_file: str?; null: not written

= train: `garner train --json` of a graph file
  @training
  tier: tier; of the adjacency
  features: str; where the features are stored, in words
  shards: {}?; --full in parts; else null
    count: int; of parts
    strategy reduction balance dtype adjacency features activations: str; how they are trained
    imbalance: num; largest edge count over the mean
    cut_edges remote_rows: int; edges to other parts; rows needed of other parts
    references: num; edges per such row
    decided: {}?; with --shard-strategy auto
      why: str; in words
      rates_measured: bool; rates are this machine's
      strategies: {}[]; the candidates
        strategy: str
        shards: int
        predicted_ms floor_ms: num
        bound: str; its bottleneck, in words
        measured_ms: num?; null: not measured
        refused: str?; why not measured
    transport over: str; how rows are exchanged; how rows are exchanged, in words
    passed_over: str[]; what was not used, and why

= train dataset: `garner train --json` of a dataset file
  @training
  target: str; the type whose nodes have labels
  features: str{}; per node type, where its features are stored, in words

= predict: `garner predict --json`
  file out: str; the graph, and the output file
  embeddings: str?; file of the rows before the classes
  nodes classes: int
  found: int[]; number of nodes per class; empty for multi-label models
  ms? prepare_ms?: num; all layers; before the layers
  bytes? local_bytes? adjacency_bytes?: int; between host memory and the device; local memory; of the bytes between host memory and the device: adjacency
  gbs?: num; those between host memory and the device
  floor_bytes?: int; rows of each layer once
  floor_ms? link_gbs? percent_of_floor?: num?; null where the link's rate is unknown
  layers?: {}[]; one per layer
    mode: str; in words
    ms input_ms output_ms: num; the layer; its aggregation; what follows its aggregation
    bytes_in bytes_out adjacency_bytes: int; over the link

= stats: `garner stats --json` of a graph file, or of a graph made in memory
  file: str; the graph file
  version: int; of the format; 0: made in memory
  file_bytes: int
  vertices edges: int
  directed in_edges reversed: bool
  id_bytes: int; bytes per stored id
  weights: 'none'|'u32'|'f32'
  id_map: bool; ids are read from a map
  id_base: int; the first id, without a map
  order: 'natural'|'degree'|'bfs'|'random'|'score'
  isolated: int?; nodes without edges; null where unknown
  degree: {}; of the out-degrees
    min median max: int
    mean: num
  adjacency_lists aligned_adjacency_lists: int; nodes with neighbors; those whose adjacency begins on a line of 128 bytes
  degrees: {}[]; a histogram
    low high vertices edges: int; degrees from low to high
  edges_up_to_degree: {}[]; cumulative
    degree edges: int
    share: num
  sections: {}[]; of the file
    name: str
    offset bytes element_bytes: int
    checksum: str; hexadecimal
  checked: bool; every byte was checked (--check)

= stats dataset: `garner stats --json` of a dataset file
  file: str; the dataset file
  nodes: {}[]; one per node type
    name: str
    count: int
    features labels times train valid test: str?; its files
  edges: {}[]; one per edge type
    from relation to: str
    stored_edges edges: int; stored; in the source data
    graph: str; the graph file
    edge_ids times features: str?; its files
  checked: bool; every byte of the adjacency was checked (--check)

= info: `garner info --json`
  version: str
  build: {}; what this build can do
    cuda: bool
    cuda_toolkit: str?
    compiler: str
    reads writes devices algorithms: str[]
  host: {}
    threads: int
    memory_total_bytes memory_available_bytes: int
    memory_installed_bytes budget_bytes locked_limit_bytes: int?; null: unknown, or unlimited
    group_limit_bytes group_used_bytes: int?; of the control group, null without a limit
    copy_gbs: num; read and write
  no_device?: str; why no GPU can be used
  devices: {}[]; one per GPU
    index: int
    name pci compute_capability: str
    multiprocessors: int
    memory_bytes memory_free_bytes l2_bytes: int
    driver runtime: int; CUDA versions, as 12040
    link: {}; measured
      to_device_gbs to_host_gbs zero_copy_gbs: num; copies to the device; copies back; reads of host memory
      line_requests_giga sector_requests_giga: num; 10^9 requests per second, of 128 and 32 bytes
      saturating_sms: int; multiprocessors that suffice for these reads
      paged_gbs: num?; managed memory
      random_reads: {}[]
        row_bytes table_bytes: int
        gbs: num
      cached_in: str; file of the measurement
  drives?: {}[]; one per file or folder of --drives
    path how: str; how it was measured, in words
    bytes gap_bytes: int; of the file; a gap that costs as much as a request
    latency_us requests_per_second gbs: num
    reads: {}[]; random reads
      request_bytes in_flight threads: int
      requests_per_second gbs median_us p99_us: num

= doctor: `garner doctor --json`
  usable: bool
  checks: {}[]
    name found: str
    advice: str?; what helps; null: nothing is wrong
)";
}

}  // namespace garner
