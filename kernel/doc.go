// Package kernel runs an unmodified GOOS=linux GOARCH=arm Go program on bare metal.
package kernel
