#!/bin/sh
# Lets the worker pods join the cluster that have not joined yet: each gets a join file of the master. Run it after
# `kubectl apply`, and after each `kubectl scale`. KUBECTL: the command, with its options (kubectl -n NAMESPACE).
set -eu
KUBECTL=${KUBECTL:-kubectl}
for pod in $($KUBECTL get pods -l app=paceline,role=worker -o name); do
  if $KUBECTL exec "$pod" -- test -e /data/worker/credentials; then continue; fi
  name=/tmp/$(basename "$pod").join
  $KUBECTL exec paceline-master-0 -- sh -c "rm -f $name; mrctl token create --data /data/master \
    --address paceline-master-0.paceline-master:7070 --join $name >/dev/null"
  $KUBECTL exec paceline-master-0 -- cat "$name" |
    $KUBECTL exec -i "$pod" -- sh -c 'umask 077; cat >/data/join.new && mv /data/join.new /data/join'
  $KUBECTL exec paceline-master-0 -- rm "$name"
  echo "$pod joins"
done
