/** Whether a field of a form has another value than before. */
export const changedFields =
  <Values extends object>(before: Values, now: Values) =>
  (key: keyof Values): boolean =>
    JSON.stringify(before[key]) !== JSON.stringify(now[key]);
