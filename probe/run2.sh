# phases with time limits; all logs into $OUT/logs.txt
L=$OUT/logs.txt; : > $L
g=bundle/bin/garner
say() { echo "=== $(date +%H:%M:%S) $*"; echo "=== $(date +%H:%M:%S) $*" >> $L; }
for p in ${PHASES:-tests build bulk gather bfs reorder python tiering sanitize}; do case $p in
tests) say tests; (cd bundle; timeout 160 ctest -L gpu > $OUT/all.log 2>&1; cat $OUT/all.log >> $L; grep "tests passed" $OUT/all.log
  for f in $(grep -E "\(Failed\)|\(SEGF|\(Timeout|Subprocess" $OUT/all.log | awk '{print $3}'); do t=${f%.gpu}; echo "--- $t"; timeout 60 ./run-tests --one $t '*device*' 2>&1 | tee -a $L | grep -v "OK \]\|RUN  \|^\[--\|^$" | head -${LINES_A_TEST:-24}; done); rm -f $OUT/all.log;;
build) say build; for i in 1 2 3; do timeout 30 bundle/tests/build_test --gtest_filter='*device*' 2>&1 | tee -a $L | grep -A3 "loops\|PASSED  \] 1"; done
  timeout 60 compute-sanitizer --tool memcheck bundle/tests/build_test --gtest_filter='*device*' 2>&1 | tee -a $L | tail -12
  timeout 60 compute-sanitizer --tool initcheck bundle/tests/build_test --gtest_filter='*device*' 2>&1 | tee -a $L | grep -v "^=========     Saved\|Host Frame" | head -30;;
bulk) say bulk; GARNER_GIB=16 timeout 100 bundle/tests/bulk_test --gtest_also_run_disabled_tests --gtest_filter='*rates*' 2>&1 | tee -a $L | tail -${BULK_LINES:-40};;
gather) say gather; timeout ${GATHER_S:-200} $g bench gather --table ${TABLE:-32GiB} --out $OUT/gather.json ${GATHER_ARGS:-} 2>&1 | tee -a $L | tail -120;;
bfs) say bfs; for k in uniform kron; do $g generate $k --scale ${SCALE:-26} /dev/shm/g.gnr --place ${PLACE:-device} >> $L 2>&1; timeout 60 $g bfs /dev/shm/g.gnr --place ${PLACE:-device} --trials 8 --no-check --verify --levels 2>&1 | tee -a $L | tail -${BFS_LINES:-26}; done;;
reorder) say reorder; for s in wrpr expected; do timeout 100 $g reorder /dev/shm/g.gnr /dev/shm/o.gnr --by score --score $s --place ${PLACE:-device} --stats 2>&1 | tee -a $L | tail -12; rm -f /dev/shm/o.gnr; done; rm -f /dev/shm/g.gnr;;
python) say python; STEPS=python PYTHON=python3 timeout 200 tools/prove_gpu bundle $OUT/py 2>&1 | tee -a $L | tail -20; tail -n 40 $OUT/py/python-*.log >> $L 2>/dev/null; tail -n 15 $OUT/py/python-*.log; rm -rf $OUT/py
  export PYTHONPATH=bundle/python; timeout 60 python3 bundle/python/examples/cora_graphsage.py bundle/data/cora 2>&1 | tail -3; timeout 60 python3 bundle/python/examples/cora_graphsage.py bundle/data/cora --garner --device-budget 1MiB 2>&1 | tail -3;;
tiering) say tiering; for k in kron web; do timeout 150 $g bench tiering --place ${PLACE:-device} --kinds $k --scale ${TSCALE:-24} --no-deeper --out $OUT/tier-$k.json 2>&1 | tee -a $L | tail -${TIER_LINES:-16}; done;;
sanitize) say sanitize; for t in gather tiered bulk score neighbour exec; do timeout 100 compute-sanitizer --tool memcheck bundle/tests/${t}_test --gtest_filter='*device*' 2>&1 | tee -a $L | tail -3 | sed "s/^/$t memcheck: /"; done
  for t in gather bulk neighbour; do timeout 100 compute-sanitizer --tool racecheck bundle/tests/${t}_test --gtest_filter='*device*' 2>&1 | tee -a $L | tail -2 | sed "s/^/$t racecheck: /"; done;;
esac; done; say done
