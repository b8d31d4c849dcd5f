import { z } from "zod";

const optionSchema = z.looseObject({ value: z.string(), name: z.string().optional() });
const configSchema = z.looseObject({
  id: z.string(),
  category: z.string().nullish(),
  type: z.string(),
  options: z
    .array(z.union([optionSchema, z.looseObject({ options: z.array(optionSchema) }).transform((group) => group.options)]))
    .optional()
    .catch(undefined),
});
const modelsSchema = z.looseObject({
  configOptions: z.array(configSchema).nullish().catch(null),
  // The older shape, which has a method of its own.
  models: z
    .looseObject({ availableModels: z.array(z.looseObject({ modelId: z.string(), name: z.string().optional() })) })
    .nullish()
    .catch(null),
});

interface ModelChoice {
  readonly id: string;
  readonly name: string | undefined;
}

/**
 * Sets the model that the caller named; answers a sentence when the engine does not offer it, so that nothing is ever
 * prompted under another model.
 */
export async function setModel(
  model: string | null,
  session: unknown,
  request: (method: string, params: object) => Promise<unknown>,
): Promise<string | null> {
  if (model === null) return null;
  const offered = modelsSchema.safeParse(session).data;
  const config = offered?.configOptions?.find((option) => option.category === "model" || option.id === "model");

  if (config?.options !== undefined) {
    const choices = config.options.flat().map((option) => ({ id: option.value, name: option.name }));
    const chosen = choose(choices, model);
    if (chosen === null) return unknownModel(model, choices);
    await request("session/set_config_option", { configId: config.id, value: chosen });
    return null;
  }
  const choices = (offered?.models?.availableModels ?? []).map(({ modelId, name }) => ({ id: modelId, name }));
  const chosen = choose(choices, model);
  if (chosen === null) return unknownModel(model, choices);
  await request("session/set_model", { modelId: chosen });
  return null;
}

function choose(choices: readonly ModelChoice[], model: string): string | null {
  const byId = choices.find((choice) => choice.id === model);
  const byName = choices.find((choice) => choice.name?.toLowerCase() === model.toLowerCase());
  return (byId ?? byName)?.id ?? null;
}

function unknownModel(model: string, choices: readonly ModelChoice[]): string {
  if (choices.length === 0) return `the engine does not know model "${model}": it offers no choice of models`;
  const shown = choices.slice(0, 20).map((choice) => choice.id);
  const rest = choices.length > shown.length ? ` and ${choices.length - shown.length} more` : "";
  return `the engine does not know model "${model}"; it offers: ${shown.join(", ")}${rest}`;
}
