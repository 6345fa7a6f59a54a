// Stands for the compiled part of Amazon's runtime interface client: its three calls of the
// Runtime API, over HTTP. Loaded with --require, before the client asks for its own.
'use strict';
const { Agent, request } = require('node:http');
const Module = require('node:module');

const [hostname, port] = String(process.env.AWS_LAMBDA_RUNTIME_API).split(':');
// One connection, so that an answer is in before the next event is asked for.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, hostname, port, method, path: `/2018-06-01/runtime/invocation/${path}`, headers },
      (answer) => {
        const chunks = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ bodyJson: Buffer.concat(chunks).toString('utf8'), headers: answer.headers }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const json = { 'content-type': 'application/json' };
const client = {
  next: () => call('GET', 'next'),
  done: (id, body) => void call('POST', `${id}/response`, body, json),
  error: (id, body) => void call('POST', `${id}/error`, body, json),
};

const load = Module._load;
Module._load = function loadOrStandIn(id, ...rest) {
  return id === './rapid-client.node' ? client : load.call(this, id, ...rest);
};
