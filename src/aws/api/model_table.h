#pragma once

#include "aws/api/model.h"

namespace muster::api {

// Written by tools/service_model.py, one in each model_table_*.cc; model.cc hands them out.
extern const Service sagemaker_model;
extern const Service logs_model;
extern const Service monitoring_model;
extern const Service sts_model;
extern const Service iam_model;
extern const Service ec2_model;
extern const Service ecr_model;
extern const Service cloudformation_model;

}  // namespace muster::api
