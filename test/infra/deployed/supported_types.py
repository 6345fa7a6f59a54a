"""The resource types of CloudFormation that moto makes, in JSON."""
import json

from moto.cloudformation.parsing import get_model_list

print(json.dumps(sorted(model.cloudformation_type() for model in get_model_list())))
