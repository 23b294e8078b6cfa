"""What a bucket of S3 has, by the client of its maker. The server is that of AWS_ENDPOINT_URL.

usage: bucket.py make BUCKET | list BUCKET | get BUCKET FOLDER
"""

import json
import os
import pathlib
import sys

import boto3

what, bucket, *more = sys.argv[1:]
client = boto3.client("s3")
if what == "make":
    client.create_bucket(Bucket=bucket)
elif what == "list":
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    objects = [one for page in pages for one in page.get("Contents", [])]
    print(json.dumps({one["Key"]: [one["Size"], one["ETag"].strip('"'), str(one["LastModified"])] for one in objects}))
elif what == "get":
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for one in page.get("Contents", []):
            path = pathlib.Path(more[0], one["Key"])
            os.makedirs(path.parent, exist_ok=True)
            client.download_file(bucket, one["Key"], str(path))
