/** Events as an API Gateway HTTP API hands them to a function (payload 2.0). */
import { randomUUID } from 'node:crypto';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';

/** A request as a client sends it. */
export interface ClientRequest {
  readonly method: string;
  /** Encoded as on the wire, with its query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/**
 * The event of a request. As the front does it: the path is decoded once, and cut at a `?` that
 * this brings about; header names are
 * in lower case, a body whose type is neither text nor JSON, or that is compressed, is in base64.
 */
export function httpEvent({ method, target, headers = {}, body }: ClientRequest): APIGatewayProxyEventV2 {
  const [path = '/', query = ''] = target.split('?', 2);
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const [rawPath = ''] = decodeURIComponent(path).split('?', 1);
  const host = 'a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com';
  const text = /^(text\/|application\/(json|javascript|xml))/.test(lower['content-type'] ?? '');
  const isBase64Encoded = body !== undefined && !(text && lower['content-encoding'] === undefined);
  const parameters = [...new URLSearchParams(query)];
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString: query,
    ...(parameters.length === 0 ? {} : { queryStringParameters: Object.fromEntries(parameters) }),
    headers: {
      accept: '*/*',
      'content-length': String(body?.length ?? 0),
      host,
      'user-agent': 'curl/8.5.0',
      'x-amzn-trace-id': 'Root=1-65f2a1b3-0123456789abcdef01234567',
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-port': '443',
      'x-forwarded-proto': 'https',
      ...lower,
    },
    requestContext: {
      accountId: '111122223333',
      apiId: 'a1b2c3d4e5',
      domainName: host,
      domainPrefix: 'a1b2c3d4e5',
      http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'curl/8.5.0' },
      requestId: randomUUID(),
      routeKey: '$default',
      stage: '$default',
      time: '14/Mar/2026:07:01:23 +0000',
      timeEpoch: 1_773_471_683_000,
    },
    ...(body === undefined ? {} : { body: Buffer.from(body).toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
}

/** A function's answer as the client behind the front gets it. */
export interface ClientResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export function clientResponse(result: APIGatewayProxyStructuredResultV2): ClientResponse {
  return {
    status: result.statusCode ?? 200,
    headers: Object.fromEntries(
      Object.entries(result.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
    ),
    body: Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8'),
  };
}

/** What the runtime tells a function of its invocation. */
export function lambdaContext(functionName: string): Context {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:eu-central-1:111122223333:function:${functionName}`,
    memoryLimitInMB: '512',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: '2026/03/14/[$LATEST]0123456789abcdef',
    getRemainingTimeInMillis: () => 29_000,
    done: () => undefined,
    fail: () => undefined,
    succeed: () => undefined,
  };
}
