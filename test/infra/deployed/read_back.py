"""What an account holds, as its services tell it: names by type of resource, in JSON."""
import json

import boto3


def pages(client, operation, key):
    return [item for page in client.get_paginator(operation).paginate() for item in page[key]]


dynamodb = boto3.client("dynamodb")
lambdas = boto3.client("lambda")
stack = boto3.client("cloudformation").describe_stacks(StackName="ResourceMap-moto")["Stacks"][0]


def table(name):
    description = dynamodb.describe_table(TableName=name)["Table"]
    return {
        "name": name,
        "billing": description["BillingModeSummary"]["BillingMode"],
        "stream": description.get("StreamSpecification", {}).get("StreamViewType"),
    }


print(
    json.dumps(
        {
            "status": stack["StackStatus"],
            "tables": [table(name) for name in pages(dynamodb, "list_tables", "TableNames")],
            "functions": [
                {
                    "name": f["FunctionName"],
                    "runtime": f["Runtime"],
                    "handler": f["Handler"],
                    "environment": f.get("Environment", {}).get("Variables", {}),
                }
                for f in pages(lambdas, "list_functions", "Functions")
            ],
            "mappings": [
                {"batch": m["BatchSize"], "responses": m.get("FunctionResponseTypes")}
                for m in pages(lambdas, "list_event_source_mappings", "EventSourceMappings")
            ],
            "buses": sorted(b["Name"] for b in boto3.client("events").list_event_buses()["EventBuses"]),
            "queues": boto3.client("sqs").list_queues().get("QueueUrls", []),
            "topics": [t["TopicArn"] for t in boto3.client("sns").list_topics()["Topics"]],
            "logGroups": sorted(
                g["logGroupName"] for g in pages(boto3.client("logs"), "describe_log_groups", "logGroups")
            ),
        }
    )
)
