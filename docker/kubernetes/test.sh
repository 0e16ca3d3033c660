#!/bin/sh
# Validates the manifests against the schemas of two releases of Kubernetes, strictly (./dev test --all). Takes the
# validator kubernetes-validate from PyPI, into build/kubernetes.
set -eu
cd "$(dirname "$0")/../.."
tool=build/kubernetes/bin/kubernetes-validate
[ -x "$tool" ] || { python3 -m venv build/kubernetes && build/kubernetes/bin/pip install -q kubernetes-validate; }
for version in 1.25 1.33; do "$tool" --quiet --strict -k "$version" docker/kubernetes/*.yaml; done
printf '== the manifests are valid\n' >&2
