#pragma once

#include "fake_subject.h"
#include "local_subject.h"
#include "slurm_subject.h"

// Every engine: the one place where another is added. A macro, for doctest's list of types.
#define ALL_ENGINES LocalSubject, FakeSubject, SlurmSubject
