#pragma once

// Every engine: the one place where another is added. A macro, for doctest's list of types. An
// engine that needs a cluster has a program of its own, which tests/e2e/test_slurm_contract.py runs
// on one.
#ifdef MUSTER_CONTRACT_ON_CLUSTER
#include "cluster_subject.h"
#define ALL_ENGINES ClusterSubject
#else
#include "fake_subject.h"
#include "local_subject.h"
#include "slurm_subject.h"
#define ALL_ENGINES LocalSubject, FakeSubject, SlurmSubject
#endif
