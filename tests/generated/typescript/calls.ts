// From an estimate to the PDF of a frozen proposal, with types that were made from the description.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

type Answered<Data> = { data?: Data; error?: components["schemas"]["Problem"] };

function done<Data>(answer: Answered<Data>): NonNullable<Data> {
  if (answer.data === undefined || answer.data === null) throw new Error(answer.error?.detail ?? "no answer");
  return answer.data;
}

const model = { preset: "bert-large" };
const workload = { samples: 1e6, global_batch: 512, seq_len: 512 };
const request = { model, workload, system: { id: "dgx-a100-640gb" } };
const figure = { label: "A", hours: 69.5, kind: "vendor" } as const;

const estimate = done(await client.POST("/api/v1/estimates", { body: request }));
const comparison = done(await client.POST("/api/v1/comparisons", { body: { rows: [request, figure] } }));
const options = [{ system: { id: "dgx-a100-640gb" } }, { system: { id: "ipu-pod16" } }];
const study = done(await client.POST("/api/v1/studies", { body: { name: "Seoul", base: { model, workload }, options } }));
const asked = { params: { path: { id: study.id } }, body: {} };
const answer = done(await client.POST("/api/v1/studies/{id}/answers", asked));
const wanted = { customer: "하이퍼커넥트", comparison_id: comparison.id };
const proposal = done(await client.POST("/api/v1/proposals", { body: wanted }));
const params = { path: { id: proposal.id } };
const frozen = done(await client.POST("/api/v1/proposals/{id}/freeze", { params }));
const pdf = done(await client.GET("/api/v1/proposals/{id}.pdf", { params, parseAs: "arrayBuffer" }));

const refused = await client.POST("/api/v1/estimates", { body: { ...request, model: { preset: "bert-huge" } } });
if (refused.error?.errors[0]?.field !== "model.preset") throw new Error("the fault is not named");

const unit = estimate.time_to_train?.unit;
const keys = answer.options.map((option) => option.key);
console.log(unit, ...keys, frozen.status, new TextDecoder().decode(pdf.slice(0, 5)));
