// The keys of every JSON object that the program prints (--json) or writes (garner bench --out): the one place where they are written
// down. `garner schema VERB` and the second half of docs/reference/json.md are made from it; tests/tools/schema_test.py compares it with
// what the verbs print, so a new key is added here too.
//
// "= VERB [WHICH]: what prints it" begins an object, "= @GROUP" keys that several objects share (with a title: they are a section of the
// page), "= type NAME: TYPE" names a type. A line is "KEYS: TYPE; MEANING", and what a key holds follows with two blanks more. "KEY?" may
// be missing. As many meanings as keys, with "; " between them, are one per key. "@GROUP" stands for the keys of the group.
// TYPE is int, num, str, bool, {} (an object), a number, a word in quotes (or several, with | between them) or the name of a type. With []
// behind it: a list of such; {}: an object whose keys are those of the data; ?: or null.
#include "schema.hpp"

namespace garner::cli {

std::string_view json_table() {
  return R"(
= type tier: 'device'|'peer'|'host'|'managed'|'file'
= type access: 'strided'|'merged'|'aligned'|'bulk'|'paged'|'copied'
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

= @reads
  requests: int; reads of the drive
  bytes: int; bytes read
  bytes_requested: int; bytes that the algorithm needed
  bytes_of_blocks: int; bytes of the blocks that hold them

= @shares
  overfetch overfetch_of_blocks: num; bytes read, divided by those requested, and by those of their blocks
  share_of_adjacency: num; bytes read, divided by the edge list

= @shards
  shards: {}[]; several devices: one per device; else empty
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
  delta: num?; the initial threshold, null for emogi
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
  l1_change: num; of the last iteration (emogi: the residual left, summed)
  edges_seen: int; over all iterations
  ms ms_per_iteration: num; time
  @link
  top: {}[]; the highest ranks; ties by ascending id
    vertex: int
    rank: num
  rounds: {}[]; one per iteration
    vertices edges: int
    l1_change: num?; null for emogi
    bytes_exchanged: int; bytes between devices
    @rate
  @shards

= @by_link
  here: num?; this machine's link; null without a GPU
  12.3 24 51: num?; a link of so many GB/s; null where unknown

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

= plan train: `garner plan --algorithm train --json`
  algorithm: 'train'
  @plan_load
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

= traffic: `garner traffic --json`
  file graph: str; the graph; what it holds, in words
  vertices edges id_bytes: int
  in_edges_built_ms: num?; as for all algorithms
  algorithm variant: str; the request
  tier: tier
  step: str; what a step of the algorithm is called
  source iterations: int?; of a search, else null; of pagerank with --iterations, else null
  l2_bytes data_bytes: int; modeled L2; bytes of the edge list (sssp: and weights)
  not_here?: str; why a time is missing here
  runs: {}[]; one per access
    access: access
    edges: int; edges seen
    requests: {}; number of requests by size
      32 64 96 128: int; of so many bytes
    pages request_count sectors: int; pages of 4 KiB; all requests; sectors of 32 bytes
    bytes_link bytes_useful: int; bytes over the link; bytes requested
    amplification overfetch: num; bytes over the link by those of the edge list; bytes over the link by the bytes requested
    ms: {}; by link
      @by_link
    adjacency_reads: {}?; tier file: what was read of it; else null
      @reads
      @shares
      steps: {}[]; one per step
        @reads

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

= trace: `garner trace --json`
  file: str; the graph
  nodes edges: int
  in_edges_built_ms: num?; as for all algorithms
  device: str; as --device
  tier: tier
  fanouts: int[]; -1: all neighbors
  rule: 'all'|'last'
  batch seed training_nodes epochs: int; the training
  batches: int; mini-batches
  accesses rows_read: int; unique rows per mini-batch, summed; distinct rows
  edges_sampled: int
  ms: num; time
  bytes_link: int?; simulated: bytes over the link; else null

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
  cache_policy reads: str?; table in a file: its cache, else null; table in a file: how it is read, else null
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
    strategy reduction balance dtype adjacency features: str; how they are trained
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
  directed in_edges: bool
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

= @head
  garner command time: str; version; command line; time (UTC)
  place: str; as --device
  device: str?; the GPU's name
  threads: int

= @bench_graph
  name: str
  vertices edges training_vertices: int

= @counted
  link: {}?; of the link, all runs together
    requests: {}; number of requests by size
      32 64 96 128: int; of so many bytes
      pages: int; of 4 KiB
    bytes_link bytes_useful: int

= bench traversal: the file of `garner bench traversal`
  schema: 'garner.bench.traversal'
  version: 1
  garner command time: str; version; command line; time (UTC)
  machine: {}; where it ran, and limits
    place: str; as --device
    device: str?; the GPU's name
    threads l2_bytes: int
    device_budget host_budget: int?
    link: {}?; its rates
      copy_gbs zero_copy_gbs: num
      paged_gbs: num?
      line_requests_giga sector_requests_giga: num
  protocol: {}
    name statistic: str
    sources trials iterations seed: int
  graphs: {}[]
    name: str
    vertices edges degree_max: int
    directed: bool
    shares: {}[]; cumulative
      degree: int
      share: num
  patterns: {}[]
    pattern: str
    bytes: int
    ms gbs: num?
    @counted
    verified: bool
    skipped: str?; why it was not measured
  jobs: {}[]; one row per mode
    graph job way: str
    label: str; printed next to the bar
    paper: bool; the paper's mode, else Garner's own
    place: str
    access: access
    tier: tier
    id_bytes: int
    data_bytes state_bytes: int; edges (SSSP: and weights) once, as stored; local memory
    device_budget: int?
    ms: num[]
    ms_statistic: num?; mean or median of ms, null where time was simulated
    prepare_ms: num?; before the clock of the first run, not part of ms; null: simulated
    iterations: int
    @counted
    modelled: bool; requests are computed in closed form
    predicted: {}[]; of a mean run
      gbs ms: num
    verified: bool; every run passed its verifier
    skipped: str?; why it was not measured

= bench tiering: the file of `garner bench tiering`
  schema: 'garner.bench.tiering'
  version: 2
  @head
  rule: str
  train: str; training nodes, as given
  batch epochs seed row_bytes: int
  ceiling: int; epochs of the other training, for each of epochs; 0: omitted
  presample: int[]; epochs that sampled counted
  kept: num[]; fractions of the rows, ascending from 0 to 1
  graphs: {}[]
    @bench_graph
    directed: bool
    scores: {}[]
      score: str
      iterations: int
      ms: num
    traces: {}[]; the first: the given fanouts; then the depths of figure 4.10
      fanouts: int[]
      epochs batches accesses sampled: int
      ms: num
      gathered: int; mini-batches
      no_gathers: str?; why none was
      curves: {}[]; oracle, another training, ceiling and each score
        score: str
        of_oracle_at_10: num; fraction of the oracle
        hits link_bytes: num[]; fraction of accesses, at each of kept; bytes per epoch of accesses that no cached row serves, at each of kept
        gathers: {}[]; of the first trace, per mini-batch
          kept link_bytes: num
          ms: num?; null where nothing is timed

= bench gather: the file of `garner bench gather`
  schema: 'garner.bench.gather'
  version: 1
  @head
  table_bytes trials seed: int
  link_gbs: num?; the link's rate
  rows: {}[]; one per line of output
    figure label way order: str; the gather, and how it was done
    row_bytes ids batches: int
    duplicates: str; once or repeat, as done; empty for one copy per row
    multiprocessors load_bytes: int; at most so many; bytes per load
    ms gbs rows_a_second: num?
    of_link: num?; on the host, the fraction of one memcpy per row
    requests: int; simulated
    beside: {}?; while arithmetic ran
      share: str; how the gather got its multiprocessors: partition or grid
      rest: int; multiprocessors of the arithmetic
      gather_alone_gbs: num
      whole_ms rest_ms beside_ms: num; one arithmetic kernel on the whole device; the kernel on the rest; the kernel concurrent with the gather
      slower slower_than_alone: num; concurrent against whole, as a fraction; concurrent against rest, as a fraction
    why skipped: str; why this strategy and order were chosen; why it was not measured, or empty

= bench load: the file of `garner bench load`
  schema: 'garner.bench.load'
  version: 1
  @head
  fanouts: int[]
  rule share: str; the training
  score: str; which rows are cached
  batch row_bytes seed: int
  compute_ms: num
  link_gbs: num?; the link's rate
  graphs: {}[]
    @bench_graph
  rows: {}[]; one per line of output
    graph figure: str
    lists way: str; tier of the adjacency; the strategy
    kept: num; fraction cached per device
    devices window: int
    multiprocessors batches: int; 0: all of them; mini-batches timed
    ms ms_median sample_ms fetch_ms gather_ms caller_waited_ms loader_waited_ms: num?; per mini-batch; null where nothing is timed
    vertices edges near_rows peer_rows far_rows window_rows fetched_rows far_bytes: num; per mini-batch
    moments: {}[]; stages while two windows were gathered
      index: int
      sample fetch gather: num[]; begin and end in ms, 0 and 0 where outside of that time
      handed: num
    skipped: str?; why it was not measured

= @bench_stages
  ms sample_ms fetch_ms gather_ms model_ms caller_waited_ms loader_waited_ms: num?; per epoch; stages overlap
  near_rows peer_rows far_rows far_bytes: num; rows by tier; bytes over the link

= bench train: the file of `garner bench train`
  schema: 'garner.bench.train'
  version: 1
  @head
  fanouts: int[]
  share: str; the training and the model
  batch hidden classes seed: int
  link_gbs: num?; the link's rate
  graphs: {}[]
    @bench_graph
  rows: {}[]; one per line of output, per epoch
    graph figure: str
    lists way: str; tier of the adjacency; the strategy
    score: str?
    kept: num; fraction cached per device
    devices width: int; number of devices; floats per row
    batches epochs_timed: int; mini-batches per epoch; epochs averaged below
    @bench_stages
    ms_median: num?; null where nothing is timed
    loss: num?; of the last epoch, the same in all rows of one graph and width
    skipped: str?; why it was not measured
  trainable: {}[]; a trainable table
    optimiser: str
    rows width: int
    step_rows record_bytes steps: int; distinct rows per step; bytes of a row with its state; steps timed
    kept: num
    gather_ms update_ms update_ms_median: num?; per step
    far_rows far_bytes: num; rows over the link per step; their bytes with their state, read by an update and as many written
    gather_floor_ms update_floor_ms: num?; at the link's rates
    of_floor of_both_floors: num?; the update over its floor; both over their floors
    skipped: str?; why it was not measured
  courses: {}[]; trainings on communities
    @bench_graph
    epochs: {}[]
      epoch: int
      loss: num?
      accuracy: num; over the training nodes, with dropout, before each step
      train_accuracy validation_accuracy test_accuracy: num?; over all neighbors
      @bench_stages

= bench storage: the file of `garner bench storage`
  schema: 'garner.bench.storage'
  version: 1
  @head
  fanouts: int[]
  share: str
  batch seed: int
  warm: int; untimed mini-batches
  compute_ms: num
  cache_batches: num; size of the cache, in mini-batches
  link_gbs: num; rate of the link that the drives share
  link_measured: bool; measured, or given
  graphs: {}[]; all node types together
    @bench_graph
    like: str; the paper's data set
    heterogeneous: bool
    table_rows row_bytes: int
    memory: num; fraction of its table in the paper's host memory
    rows_a_batch: num; rows per mini-batch
  rows: {}[]; one per line of output; figures are per mini-batch
    graph figure way: str
    policy: str?; of the cache
    drive: str?; name of a simulated one; file; null: not read
    drives window slots: int
    batches: int; mini-batches timed
    ms sample_ms copy_ms model_ms: num?
    read_ms: num?; time waiting for reads
    asked: num; rows requested (mmap: pages)
    hits resident: num; found in memory; pinned in host memory
    reads read_bytes: num
    possible possible_in_window: num?; hits of Belady's rule; its hits of rows that recur within the window only
    metadata_bytes: num?; per slot
    compared: int; rows compared, in total
    gbs: num[]; of cold: rows delivered, by mini-batch
    skipped: str?; why it was not measured

= bench shards: the file of `garner bench shards`
  schema: 'garner.bench.shards'
  version: 3
  @head
  shards shrink seed trials: int; the request
  width: int; elements per row
  rates: {}; behind the floors
    memory_gbs cache_gbs link_gbs launch_us meeting_us: num
    cache_bytes: int
    measured: bool
  over: str?; the provider of remote rows and their transport; null: one shard
  no_uvm: str?; why managed rows were left out; null: they were not
  graphs: {}[]
    name: str
    vertices edges: int
    imbalance: num; of its split: largest edge count over the mean
    cut_edges remote_rows: int; edges to other parts, rows needed
    references split_ms: num
  rows: {}[]; one per line of output
    graph: str
    study: str; ways; gcn, gin: figure 8, aggregations of a model; ablation, sweep: figures 9 and 10
    shards: int
    way sums wire: str; strategy
    width layers: int; elements per row; aggregations per time
    ps dist wpb: int?; for mgg and uvm, else null
    whole_lists apart: bool; figure 9: lists not split; local and remote work in separate warps
    plain_reads: bool; remote rows are read synchronously, without overlap with local sums
    prepare_ms: num; adjacency of the slowest shard
    ms: num; the slowest shard's
    against_one: num?; divided by that of one device
    bytes most_bytes: int; of other shards' rows, in total; of other shards' rows, of the shard with the most
    links: int[][]; the same by link: a list per reader, of bytes from each owner
    memory_bytes: num; local, of the slowest shard (one device: of all)
    floor_ms: num?; the time its bytes need
    forward: {}?; for gcn and gin the whole pass
      inputs classes: int
      columns: int[]; of its aggregations in turn
      ms: num
      against_one floor_ms: num?; its floor includes GEMM bytes
    steps: {}[]; what a search measured to find this one, in order; empty: not searched for
      ps dist wpb: int
      ms: num
)";
}

}  // namespace garner::cli
