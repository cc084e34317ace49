// Asks the YAML library of kubectl what each scalar form is, and writes the answers as test vectors.
//
//	go run . < forms.txt > ../../../tests/core/template_document/scalars.json
//
// forms.txt holds one unquoted scalar a line. An answer is JSON as kubectl would send it, null where the
// library refuses the form.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

type vector struct {
	Source string          `json:"source"`
	Value  json.RawMessage `json:"value"`
	Error  string          `json:"error,omitempty"`
}

func ask(source string) vector {
	answer, err := yaml.YAMLToJSON([]byte("key: " + source + "\n"))
	if err != nil {
		return vector{Source: source, Value: json.RawMessage("null"), Error: err.Error()}
	}
	var object struct {
		Key json.RawMessage `json:"key"`
	}
	if err := json.Unmarshal(answer, &object); err != nil {
		panic(err)
	}
	return vector{Source: source, Value: object.Key}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	fmt.Print("[\n")
	for first := true; lines.Scan(); first = false {
		if !first {
			fmt.Print(",\n")
		}
		text, err := json.Marshal(ask(lines.Text()))
		if err != nil {
			panic(err)
		}
		fmt.Printf("  %s", text)
	}
	fmt.Print("\n]\n")
}
