import { defineConfig } from 'vitest/config'

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  define: { STYLES: '{}', ICONS: '""' },
  test: {
    // Tests that need a document begin with the comment `@vitest-environment happy-dom`.
    environment: 'node',
    include: ['**/*.test.ts', '**/*.test.tsx'],
    testTimeout: 5000,
  },
})
