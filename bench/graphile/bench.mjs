// graphile-worker with its local queue and batched completion, its fastest documented settings.
// The same actions, arguments and answers as bench/systems/driver.py; the database in BENCH_DSN.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

const TASK = "bench";
const OBSERVE_EVERY_MS = 2;
const CONCURRENCY = Number(process.env.BENCH_CONCURRENCY ?? 24);
const LOCAL_QUEUE = Number(process.env.BENCH_LOCAL_QUEUE ?? 500);
const COMPLETE_DELAY_MS = Number(process.env.BENCH_COMPLETE_DELAY_MS ?? 0);

const dsn = process.env.BENCH_DSN;
const [action, json] = process.argv.slice(2);
const args = JSON.parse(json);
const limitMs = (args.limit ?? 120) * 1000;
const logger = new Logger(() => () => {});
const nowNs = () => Number(process.hrtime.bigint());
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

function leave(line) {
  process.stdout.write(JSON.stringify(line) + "\n", () => process.exit(0));
}

function utils() {
  return makeWorkerUtils({ connectionString: dsn, logger, maxPoolSize: 1 });
}

function startWorker(hit) {
  return run({
    connectionString: dsn,
    logger,
    noHandleSignals: true,
    taskList: { [TASK]: async (payload) => hit(payload) },
    preset: {
      worker: {
        concurrentJobs: CONCURRENCY,
        maxPoolSize: 10,
        localQueue: { size: LOCAL_QUEUE },
        completeJobBatchDelay: COMPLETE_DELAY_MS,
        failJobBatchDelay: COMPLETE_DELAY_MS,
      },
    },
  });
}

async function prepare() {
  const worker = await utils();
  await worker.migrate();
  await worker.release();
  const file = new URL("./node_modules/graphile-worker/package.json", import.meta.url);
  leave({ version: JSON.parse(readFileSync(file)).version });
}

async function bulk() {
  const worker = await utils();
  await worker.withPgClient((client) => client.query("select 1"));
  const chunks = [];
  for (let start = 0; start < args.n; start += args.batch) {
    const count = Math.min(args.batch, args.n - start);
    chunks.push(
      Array.from({ length: count }, (_, i) => ({ identifier: TASK, payload: { n: start + i } })),
    );
  }
  const started = nowNs();
  for (const chunk of chunks) await worker.addJobs(chunk);
  leave({ n: args.n, seconds: (nowNs() - started) / 1e9 });
}

async function single() {
  const worker = await utils();
  await worker.withPgClient((client) => client.query("select 1"));
  const started = nowNs();
  for (let n = 0; n < args.n; n++) await worker.addJob(TASK, { n });
  leave({ n: args.n, seconds: (nowNs() - started) / 1e9 });
}

async function produce() {
  const worker = await utils();
  if (args.knock) await worker.addJob(TASK, { n: -1, t: nowNs() });
  say({ ready: true });
  await new Promise((resolve) => createInterface({ input: process.stdin }).once("line", resolve));
  const started = nowNs();
  for (let i = 0; i < args.n; i++) {
    const aheadMs = (started - nowNs()) / 1e6 + (i * 1000) / args.rate;
    if (aheadMs > 0) await sleep(aheadMs);
    await worker.addJob(TASK, { n: (args.offset ?? 0) + i, t: nowNs() });
  }
  leave({ n: args.n, seconds: (nowNs() - started) / 1e9 });
}

async function drain() {
  const observer = new pg.Client({ connectionString: dsn });
  await observer.connect();
  const deadline = nowNs() + limitMs * 1e6;
  let count = 0;
  let firstNs = 0;
  let firstCpu;

  const finish = async () => {
    for (;;) {
      const { rows } = await observer.query({ text: args.unfinished, rowMode: "array" });
      if (!rows[0][0]) break;
      if (nowNs() > deadline) leave({ error: "all jobs ran, but not all completed in time" });
      await sleep(OBSERVE_EVERY_MS);
    }
    const seconds = (nowNs() - firstNs) / 1e9;
    const cpu = process.cpuUsage(firstCpu);
    leave({ n: args.n, seconds, cpu_seconds: (cpu.user + cpu.system) / 1e6 });
  };

  setTimeout(() => leave({ error: `${count} of ${args.n} jobs in ${limitMs / 1000} s` }), limitMs);
  await startWorker(() => {
    count += 1;
    if (count === 1) {
      firstNs = nowNs();
      firstCpu = process.cpuUsage();
    }
    if (count === args.n) void finish();
  });
}

async function work() {
  const latencies = {};
  let count = 0;
  const answer = () => leave({ latencies_ns: latencies, missing: args.n - count });
  setTimeout(answer, limitMs * 2);
  await startWorker((payload) => {
    const now = nowNs();
    if (payload.n < 0) return say({ ready: true });
    latencies[payload.n] = now - payload.t;
    count += 1;
    if (count === args.n) answer();
  });
}

// A lost parent must not leave a worker behind.
setTimeout(() => process.exit(3), limitMs * 2 + 60_000).unref();

const actions = { prepare, bulk, single, produce, drain, work };
try {
  await actions[action]();
} catch (error) {
  leave({ error: String(error) });
}
