g=bundle/bin/garner
for s in 9 10 11 12 14 17 20; do
 for k in kron uniform; do
  $g generate $k --scale $s /dev/shm/h.gnr --place host > /dev/null; 
  for r in 1 2 3; do
  $g generate $k --scale $s /dev/shm/d$r.gnr --place device > /dev/null
  cmp -s /dev/shm/h.gnr /dev/shm/d$r.gnr && echo -n "same " || echo -n "DIFF "
  done; cmp -s /dev/shm/d1.gnr /dev/shm/d2.gnr && echo "$k $s d1=d2" || echo "$k $s d1!=d2"
 done
done
for k in kron; do for s in 11; do $g generate $k --scale $s /dev/shm/h.gnr --place host >/dev/null;  $g generate $k --scale $s /dev/shm/d.gnr --place device > /dev/null; $g convert /dev/shm/h.gnr /dev/shm/h.el >/dev/null; $g convert /dev/shm/d.gnr /dev/shm/d.el > /dev/null; diff /dev/shm/h.el /dev/shm/d.el | head -30; done; done
python3 probe/pin.py
