import { Field } from './field.tsx';
import { localTime } from './local-time.ts';

interface TimeFieldProps {
  /** The name of the value in the form. */
  readonly name: string;
  readonly label: string;
  /** A time in ISO 8601, or nothing. What is no time is not shown. */
  readonly time: string | null;
}

/** An input of a time in the zone of the viewer. `timeOfInput` returns what a form has of it. */
export function TimeField({ name, label, time }: TimeFieldProps) {
  return (
    <Field label={label}>
      <input name={name} type="datetime-local" step={1} defaultValue={localTime(time)} />
    </Field>
  );
}
