import { useTexts } from '../texts/texts.ts';
import { projectTexts } from './texts.ts';

export const ROLES = ['VIEWER', 'EDITOR', 'ADMIN'] as const;
export type Role = (typeof ROLES)[number];

interface RoleSelectProps {
  readonly value: Role;
  readonly onChange: (role: Role) => void;
  /** For screen readers, if no label is visible. */
  readonly label?: string;
}

export function RoleSelect({ value, onChange, label }: RoleSelectProps) {
  const text = useTexts(projectTexts);
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(ROLES.find((role) => role === currentTarget.value) ?? value)}
    >
      {ROLES.map((role) => (
        <option key={role} value={role}>
          {text(role)}
        </option>
      ))}
    </select>
  );
}
