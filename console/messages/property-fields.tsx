import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import type { Properties } from './publish-input.ts';
import { messageTexts } from './texts.ts';

export const EMPTY: Properties = {
  contentType: '',
  responseTopic: '',
  correlationDataBase64: '',
  messageExpirySeconds: '',
  isPayloadUtf8: false,
  userProperties: '',
};

interface PropertyFieldsProps {
  readonly properties: Properties;
  readonly onChange: (properties: Properties) => void;
}

/** The properties of MQTT 5 of a message. */
export function PropertyFields({ properties, onChange }: PropertyFieldsProps) {
  const text = useTexts(messageTexts);
  const field = (name: 'contentType' | 'responseTopic' | 'correlationDataBase64', placeholder: string) => (
    <Field label={text(name)}>
      <input
        value={properties[name]}
        placeholder={placeholder}
        onInput={({ currentTarget: { value } }) => onChange({ ...properties, [name]: value })}
      />
    </Field>
  );
  return (
    <details>
      <summary>{text('properties')}</summary>
      <div className="fields">
        {field('contentType', 'application/json')}
        <Field label={text('messageExpirySeconds')}>
          <input
            type="number"
            min={1}
            value={properties.messageExpirySeconds}
            onInput={({ currentTarget: { value } }) => onChange({ ...properties, messageExpirySeconds: value })}
          />
        </Field>
        {field('responseTopic', 'replies/operator')}
        {field('correlationDataBase64', 'AAEC')}
        <Field label={text('userProperties')} hint={text('userPropertiesHint')}>
          <textarea
            rows={2}
            value={properties.userProperties}
            onInput={({ currentTarget: { value } }) => onChange({ ...properties, userProperties: value })}
          />
        </Field>
        <label>
          <input
            type="checkbox"
            checked={properties.isPayloadUtf8}
            onChange={({ currentTarget: { checked } }) => onChange({ ...properties, isPayloadUtf8: checked })}
          />{' '}
          {text('isPayloadUtf8')}
        </label>
      </div>
    </details>
  );
}
