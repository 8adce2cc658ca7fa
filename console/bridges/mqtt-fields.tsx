import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { addressOf } from '../ui/broker-address.ts';
import { Field } from '../ui/field.tsx';
import { fieldTexts } from './field-texts.ts';
import { PRESET_KEYS, PRESETS, type PresetKey, presetOf } from './presets.ts';
import { isFields, type Schema } from './schema.ts';
import { FurtherFields } from './schema-field.tsx';
import { bridgeTexts } from './texts.ts';
import { TopicRules } from './topic-rules.tsx';
import { ValueField, type ValueFieldProps } from './value-field.tsx';

const MAIN = ['name', 'url', 'topics', 'active'];

/** Whether connections with this schema lead to another MQTT broker. */
export const isMqtt = ({ properties = {} }: Schema): boolean =>
  properties.url !== undefined && properties.topics?.items?.properties?.direction !== undefined;

/** Without the description, which the hint of the preset replaces. */
function fieldOf({ description: _description, ...schema }: Schema = {}): Schema {
  return { ...schema, minLength: 1 };
}

/** A connection to another MQTT broker: what its service requires first, and everything else behind a disclosure. */
export function MqttFields({ name: title, schema, value, onChange }: Omit<ValueFieldProps, 'isRequired'>) {
  const text = useTexts(bridgeTexts);
  const labels = useTexts(fieldTexts);
  const fields = isFields(value) ? value : {};
  const { properties = {} } = schema;
  const [typed, setTyped] = useState(() => String(fields.url ?? ''));
  const [key, setKey] = useState(() => presetOf(typed));
  const preset = PRESETS[key];
  const credentials: readonly string[] = preset.credentials;
  const set = (name: string, next: unknown) => {
    const { [name]: _before, ...others } = fields;
    onChange(next === undefined ? others : { ...others, [name]: next });
  };
  const setAddress = (next: string, nextKey: PresetKey) => {
    setTyped(next);
    setKey(nextKey);
    set('url', addressOf(next, PRESETS[nextKey]));
  };
  return (
    <div className="fields">
      <fieldset className="choices" aria-label={text('otherBroker')}>
        {PRESET_KEYS.map((one) => (
          <button key={one} type="button" aria-pressed={key === one} onClick={() => setAddress(typed, one)}>
            {text(one)}
          </button>
        ))}
      </fieldset>
      <p className="quiet">{text(`${key}Hint`)}</p>
      <Field label={text('name')} hint={text('nameHint')}>
        <input
          value={String(fields.name ?? '')}
          required={true}
          maxLength={100}
          onInput={({ currentTarget }) => set('name', currentTarget.value)}
        />
      </Field>
      <Field label={text('address')} hint={text('connectsTo', { url: addressOf(typed || preset.example, preset) })}>
        <input
          value={typed}
          required={true}
          placeholder={preset.example}
          autoComplete="off"
          onInput={({ currentTarget }) => setAddress(currentTarget.value, key)}
        />
      </Field>
      {preset.credentials.map((one) => (
        <ValueField
          key={one}
          name={labels(one)}
          schema={fieldOf(properties[one])}
          value={fields[one]}
          isRequired={preset.needsCredentials}
          onChange={(next) => set(one, next)}
        />
      ))}
      <TopicRules
        schema={properties.topics?.items ?? {}}
        rules={fields.topics}
        onChange={(next) => set('topics', next)}
      />
      <label className="choice">
        <input
          type="checkbox"
          checked={fields.active !== false}
          onChange={({ currentTarget: { checked } }) => set('active', checked)}
        />
        <span>
          {text('active')} <small>{text('activeHint')}</small>
        </span>
      </label>
      <FurtherFields
        name={title}
        schema={schema}
        value={fields}
        isShown={(name) => !MAIN.includes(name) && !credentials.includes(name)}
        onChange={onChange}
      />
    </div>
  );
}
