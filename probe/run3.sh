g=bundle/bin/garner; L=$OUT/logs.txt
export GARNER_PROGRAM=$PWD/bundle/bin/garner GARNER_SOURCE_DIR=$PWD/bundle
for t in copies pack tiered pin gather plan_program faults gather_file shared share tiering components tier; do echo "--- $t"; timeout 90 bundle/tests/${t}_test --gtest_filter='*device*' 2>&1 | tee -a $L | grep -E "Failure|exception|Actual|seed|variant|FAILED  . [a-z]|PASSED|^  .*throw" | cut -c1-300 | head -14; done
STEPS=python PYTHON=python3 timeout 150 tools/prove_gpu bundle $OUT/py 2>&1 | tail -12; for f in $OUT/py/python-*.log; do grep -E "^(FAIL|ERROR|[A-Za-z]*Error)" $f | head -5; done; tail -5 $OUT/py/proof.log | cut -c1-300; cat $OUT/py/*.log >> $L; rm -rf $OUT/py
export PYTHONPATH=bundle/python OMP_NUM_THREADS=4; for a in "" "--garner --device-budget 1MiB"; do timeout 60 python3 bundle/python/examples/cora_graphsage.py bundle/data/cora $a 2>&1 | tail -2; done
timeout 120 $g bench gather --table 32GiB --figures beside,orders --out $OUT/beside.json 2>&1 | tee -a $L | cut -c1-190 | grep -E "beside|batch|300000"
for k in kron web; do timeout 100 $g bench tiering --place device --kinds $k --scale ${TSCALE:-24} --no-deeper --out $OUT/tier-$k.json 2>&1 | tee -a $L | cut -c1-150 | tail -26; done
